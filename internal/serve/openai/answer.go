package openai

import (
	"encoding/json"
	"strconv"
)

// Head has the fields that all parts of an answer repeat.
type Head struct {
	Endpoint Endpoint
	// ID names the request, Model who answers, and Created is when, in seconds of Unix time.
	ID, Model string
	Created   int64
}

// Usage counts the tokens of a request.
type Usage struct {
	Prompt, Cached, Completion int
}

// Choice is one complete answer.
type Choice struct {
	Text string
	// Call names the function that the answer calls, with Text as its arguments; empty for text.
	Call, CallID string
	// Finish is stop, length or tool_calls.
	Finish string
	// Stop is the text that ended the answer; nil for another end. Responses does not show it.
	Stop *string
	// Logprobs are the probabilities of the tokens; nil without one.
	Logprobs json.RawMessage
}

// appendTo appends the usage as JSON, by the names of the endpoint.
func (u Usage) appendTo(b []byte, e Endpoint) []byte {
	prompt, completion := `{"prompt_tokens":`, `,"completion_tokens":`
	if e == Responses {
		prompt, completion = `{"input_tokens":`, `,"output_tokens":`
	}
	b = strconv.AppendInt(append(b, prompt...), int64(u.Prompt), 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), int64(u.Prompt+u.Completion), 10)
	b = strconv.AppendInt(append(b, completion...), int64(u.Completion), 10)
	if e == Responses {
		b = append(b, `,"input_tokens_details":{"cached_tokens":`...)
		return append(strconv.AppendInt(b, int64(u.Cached), 10),
			`},"output_tokens_details":{"reasoning_tokens":0}}`...)
	}
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	return append(strconv.AppendInt(b, int64(u.Cached), 10), "}}"...)
}

// call is a tool call of Chat.
type call struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function callFunction `json:"function"`
}

type callFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// Document returns the answer in one piece.
func (h *Head) Document(choices []Choice, u Usage) []byte {
	if h.Endpoint == Responses {
		return h.response("completed", choices, &u)
	}
	type choice struct {
		Index    int             `json:"index"`
		Text     *string         `json:"text,omitempty"`    // of Completions
		Message  *replyMessage   `json:"message,omitempty"` // of Chat
		Logprobs json.RawMessage `json:"logprobs"`
		Finish   string          `json:"finish_reason"`
		Stop     *string         `json:"stop_reason"`
	}
	var list []choice
	for i, c := range choices {
		one := choice{Index: i, Logprobs: c.Logprobs, Finish: c.Finish, Stop: c.Stop}
		if h.Endpoint == Completions {
			one.Text = &c.Text
		} else {
			one.Message = c.message()
		}
		list = append(list, one)
	}
	return mustMarshal(struct {
		ID      string          `json:"id"`
		Object  string          `json:"object"`
		Created int64           `json:"created"`
		Model   string          `json:"model"`
		Choices []choice        `json:"choices"`
		Usage   json.RawMessage `json:"usage"`
	}{h.ID, h.object(false), h.Created, h.Model, list, u.appendTo(nil, h.Endpoint)})
}

// replyMessage is the message of an answer of Chat.
type replyMessage struct {
	Role      string  `json:"role"`
	Content   *string `json:"content"`
	Refusal   *string `json:"refusal"`
	ToolCalls []call  `json:"tool_calls,omitempty"`
}

func (c *Choice) message() *replyMessage {
	if c.Call == "" {
		return &replyMessage{Role: "assistant", Content: &c.Text}
	}
	return &replyMessage{Role: "assistant", ToolCalls: []call{
		{ID: c.CallID, Type: "function", Function: callFunction{c.Call, c.Text}},
	}}
}

// object names the kind of document.
func (h *Head) object(chunk bool) string {
	switch {
	case h.Endpoint == Completions:
		return "text_completion"
	case chunk:
		return "chat.completion.chunk"
	}
	return "chat.completion"
}

// response returns the document of the Responses API.
func (h *Head) response(status string, choices []Choice, u *Usage) []byte {
	output := []any{}
	for _, c := range choices {
		output = append(output, h.item(&c, "completed"))
	}
	var usage json.RawMessage
	if u != nil {
		usage = u.appendTo(nil, Responses)
	}
	var incomplete any
	if len(choices) > 0 && choices[0].Finish == "length" {
		status, incomplete = "incomplete", map[string]string{"reason": "max_output_tokens"}
	}
	return mustMarshal(struct {
		ID         string          `json:"id"`
		Object     string          `json:"object"`
		Created    int64           `json:"created_at"`
		Status     string          `json:"status"`
		Error      any             `json:"error"`
		Incomplete any             `json:"incomplete_details"`
		Model      string          `json:"model"`
		Output     []any           `json:"output"`
		Parallel   bool            `json:"parallel_tool_calls"`
		ToolChoice string          `json:"tool_choice"`
		Tools      []any           `json:"tools"`
		Usage      json.RawMessage `json:"usage"`
	}{h.ID, "response", h.Created, status, nil, incomplete, h.Model, output, true, "auto", []any{},
		usage})
}

// item is a part of the output of the Responses API.
func (h *Head) item(c *Choice, status string) any {
	if c.Call != "" {
		return struct {
			ID        string `json:"id"`
			Type      string `json:"type"`
			Status    string `json:"status"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}{"fc_" + h.ID, "function_call", status, c.CallID, c.Call, c.Text}
	}
	content := []any{}
	if status == "completed" {
		content = append(content, textPart(c.Text))
	}
	return struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Status  string `json:"status"`
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}{"msg_" + h.ID, "message", status, "assistant", content}
}

func textPart(text string) any {
	return struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Annotations []any  `json:"annotations"`
	}{"output_text", text, []any{}}
}

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of texts, numbers, and what was marshalled before
	}
	return b
}
