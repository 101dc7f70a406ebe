package openai

import "encoding/json"

// Function is one that an answer may call.
type Function struct {
	Name string `json:"name"`
	// Parameters is the JSON Schema of its arguments.
	Parameters json.RawMessage `json:"parameters"`
}

// tool is a function as Chat wraps it, or bare as Responses does.
type tool struct {
	Type       string          `json:"type"`
	Function   *Function       `json:"function"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// choice is a tool_choice that names a function, in either shape.
type choice struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// format says what text is wanted: response_format of Chat, or text.format of Responses.
type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
	Nested *struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type textOptions struct {
	Format *format `json:"format"`
}

// structured is vLLM's own way to ask for JSON.
type structured struct {
	JSON       json.RawMessage `json:"json"`
	JSONObject bool            `json:"json_object"`
	Choice     json.RawMessage `json:"choice"`
	Regex      json.RawMessage `json:"regex"`
	Grammar    json.RawMessage `json:"grammar"`
	Tag        json.RawMessage `json:"structural_tag"`
}

// readTools decides whether the answer calls a function. With "auto", it does unless the last
// message is the result of a function: so a client's loop over tools comes to an end.
func (r *Request) readTools(b *body) error {
	if len(b.Tools) > maxTools {
		return Invalid("tools", "tools: found %d, allowed: at most %d", len(b.Tools), maxTools)
	}
	functions := make([]*Function, 0, len(b.Tools))
	for i := range b.Tools {
		t := &b.Tools[i]
		if t.Type != "function" {
			return Invalid("tools", "tools.%d.type: found %q, allowed: function", i,
				shorten(t.Type))
		}
		f := t.Function
		if f == nil {
			f = &Function{Name: t.Name, Parameters: t.Parameters}
		}
		if f.Name == "" {
			return Invalid("tools", "tools.%d: found no name of a function", i)
		}
		functions = append(functions, f)
	}
	mode, name, err := toolChoice(b.ToolChoice)
	if err != nil {
		return err
	}
	if name != "" {
		for _, f := range functions {
			if f.Name == name {
				r.Call = f
				return nil
			}
		}
		return Invalid("tool_choice", "tool_choice: found %q, which is none of the tools",
			shorten(name))
	}
	switch {
	case mode == "required" && len(functions) == 0:
		return Invalid("tool_choice", "tool_choice: found \"required\" without tools")
	case mode == "none" || len(functions) == 0:
	case mode == "required" || waiting(b):
		r.Call = functions[0]
	}
	return nil
}

// toolChoice reads a mode, or the name of a function.
func toolChoice(raw json.RawMessage) (mode, name string, err error) {
	if absent(raw) {
		return "auto", "", nil
	}
	if json.Unmarshal(raw, &mode) == nil {
		switch mode {
		case "auto", "none", "required":
			return mode, "", nil
		}
		return "", "", Invalid("tool_choice",
			"tool_choice: found %q, allowed: auto, none, required, or a function", shorten(mode))
	}
	var c choice
	if json.Unmarshal(raw, &c) == nil {
		if name = c.Function.Name; name == "" {
			name = c.Name
		}
	}
	if name == "" {
		return "", "", Invalid("tool_choice", "tool_choice: found no name of a function")
	}
	return "", name, nil
}

// structure returns what vLLM's own fields ask for; nil where they ask for nothing.
func (b *body) structure() (*format, error) {
	s := structured{JSON: b.GuidedJSON}
	prefix := "guided_"
	if b.StructuredInput != nil {
		s, prefix = *b.StructuredInput, "structured_outputs."
	} else {
		s.Choice, s.Regex, s.Grammar = b.GuidedChoice, b.GuidedRegex, b.GuidedGrammar
	}
	for _, field := range []struct {
		name  string
		value json.RawMessage
	}{{"choice", s.Choice}, {"regex", s.Regex}, {"grammar", s.Grammar}, {"structural_tag", s.Tag}} {
		if name := prefix + field.name; !idle(field.value) {
			return nil, Invalid(name, "%s: this server makes up texts, and JSON of a schema", name)
		}
	}
	switch {
	case !absent(s.JSON):
		return &format{Type: "json_schema", Schema: s.JSON}, nil
	case s.JSONObject:
		return &format{Type: "json_object"}, nil
	}
	return nil, nil
}

// readSchema takes what the text is to be an instance of.
func (r *Request) readSchema(b *body) error {
	f := b.ResponseFormat
	if b.Text != nil && b.Text.Format != nil {
		f = b.Text.Format
	}
	own, err := b.structure()
	if err != nil {
		return err
	}
	if own != nil {
		f = own
	}
	if f == nil {
		return nil
	}
	switch f.Type {
	case "text":
	case "json_object":
		r.Schema = json.RawMessage(`{"type":"object"}`)
	case "json_schema":
		r.Schema = f.Schema
		if f.Nested != nil {
			r.Schema = f.Nested.Schema
		}
		if absent(r.Schema) {
			return Invalid("response_format", "response_format: found no schema")
		}
	default:
		return Invalid("response_format",
			"response_format.type: found %q, allowed: text, json_object, json_schema",
			shorten(f.Type))
	}
	return nil
}
