package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// drawBounds makes up a schema with keywords that drawSchema leaves out.
func drawBounds(t *rapid.T, depth int) map[string]any {
	n := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	s := map[string]any{}
	maybe := func(key string, value any) {
		if n(key, 0, 2) == 0 {
			s[key] = value
		}
	}
	inner := func() any {
		if depth > 1 {
			return map[string]any{"type": rapid.SampledFrom([]string{"string", "integer", "null",
				"boolean"}).Draw(t, "leaf")}
		}
		return drawBounds(t, depth+1)
	}
	switch kind := rapid.SampledFrom([]string{"integer", "number", "string", "array", "object",
		"any", "list of types"}).Draw(t, "kind"); kind {
	case "integer", "number":
		s["type"] = kind
		maybe("exclusiveMinimum", n("low", -3, 3))
		maybe("exclusiveMaximum", n("high", 2, 6))
		maybe("minimum", n("least", -3, 3))
		maybe("maximum", n("most", 2, 6))
		maybe("multipleOf", n("unit", 1, 3))
	case "string":
		maybe("type", kind)
		maybe("minLength", n("least", 0, 2))
		maybe("maxLength", n("most", 1, 4))
		maybe("pattern", "^[a-c]*$")
	case "array":
		maybe("type", kind)
		s["items"] = inner()
		maybe("prefixItems", []any{inner(), map[string]any{"const": 1}})
		maybe("minItems", n("least", 0, 2))
		maybe("maxItems", n("most", 1, 3))
		maybe("uniqueItems", true)
	case "object":
		maybe("type", kind)
		s["properties"] = map[string]any{"a": inner(), "b": inner()}
		maybe("required", []any{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "required")})
		maybe("additionalProperties", rapid.SampledFrom([]any{false, true,
			map[string]any{"type": "integer"}}).Draw(t, "additional"))
		maybe("propertyNames", map[string]any{"maxLength": n("name", 0, 2)})
		maybe("minProperties", n("least", 0, 2))
		maybe("maxProperties", n("most", 0, 2))
	case "any":
		s[rapid.SampledFrom([]string{"anyOf", "oneOf", "allOf"}).Draw(t, "of")] = []any{inner(),
			inner()}
	default:
		s["type"] = []any{"object", "null", "integer"}[n("types", 0, 2):]
	}
	return s
}

// drawValue makes up a value such as schemas of drawBounds accept or refuse.
func drawValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 6).Draw(t, "value"); {
	case kind == 0 && depth < 3:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth+1))
		}
		return list
	case kind == 1 && depth < 3:
		o := map[string]any{}
		for _, name := range []string{"a", "b", "c", "long"} {
			if rapid.Bool().Draw(t, name) {
				o[name] = drawValue(t, depth+1)
			}
		}
		return o
	case kind < 4:
		return rapid.SampledFrom([]any{-3.0, 0.0, 1.0, 2.0, 2.5, 3.0, 6.0}).Draw(t, "number")
	case kind < 6:
		return rapid.SampledFrom([]any{"", "a", "ab", "äb", "abcab", "x"}).Draw(t, "text")
	}
	return rapid.SampledFrom([]any{nil, true}).Draw(t, "other")
}

// A schema accepts a value exactly where a validator that is not ours does, and what is made of a
// schema is accepted by it; what cannot be made is refused by a keyword of the schema, or since
// it allows nothing.
func TestValidatorsAgree(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 8 {
			schema, err := json.Marshal(drawBounds(t, 0))
			testkit.OK(t, err)
			var s jsonschema.Schema
			testkit.OK(t, json.Unmarshal(schema, &s))
			resolved, err := s.Resolve(nil)
			testkit.OK(t, err)
			decoder := json.NewDecoder(strings.NewReader(string(schema)))
			decoder.UseNumber()
			var root any
			testkit.OK(t, decoder.Decode(&root))
			for range 8 {
				value := drawValue(t, 0)
				m := &maker{root: root, words: words}
				broken, err := m.broken(root, value, 0)
				testkit.OK(t, err)
				if want := resolved.Validate(value); (want == nil) != (broken == "") {
					t.Fatalf("%s: %v breaks %q; the other validator says %v", schema, value, broken,
						want)
				}
				if broken == "" {
					accepted++
				} else if refused++; !strings.Contains(string(schema), broken) {
					t.Fatalf("%s: %v breaks %q, which it does not have", schema, value, broken)
				}
			}
			value, err := Instance(schema, words)
			if err == nil {
				valid(t, schema, value)
				continue
			}
			_, says, _ := strings.Cut(err.Error(), "schema: ")
			keyword, _, _ := strings.Cut(says, ":")
			if !strings.Contains(string(schema), keyword) && says != "it allows nothing" {
				t.Fatalf("%s: %v", schema, err)
			}
		}
	})
	if accepted < refused/20 || refused < accepted/20 {
		t.Errorf("%d values are accepted, and %d refused", accepted, refused)
	}
}

// Items at the beginning of an array have the schemas of their places, and the ones behind these
// the schema of items; an array is as long as its bounds say.
func TestItemsHaveTheSchemasOfTheirPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(0, 3).Draw(t, "first")
		least := rapid.IntRange(0, 5).Draw(t, "least")
		s := map[string]any{"type": "array", "items": map[string]any{"const": "rest"},
			"minItems": least}
		var prefix []any
		for i := range first {
			prefix = append(prefix, map[string]any{"const": i})
		}
		if s["prefixItems"] = prefix; first == 0 {
			delete(s, "prefixItems")
		}
		schema, err := json.Marshal(s)
		testkit.OK(t, err)
		value, err := Instance(schema, words)
		testkit.OK(t, err)
		var got []any
		testkit.OK(t, json.Unmarshal(value, &got))
		if len(got) != max(first, least) {
			t.Fatalf("%s: %s", schema, value)
		}
		for i, item := range got {
			if i < first && item != float64(i) || i >= first && item != "rest" {
				t.Fatalf("%s: %s", schema, value)
			}
		}
	})
}

// The prompt of a conversation has the role, the content and the calls of each message, in their
// order, and nothing of what is no message.
func TestConversationsHaveAllThatIsSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var messages []message
		want := ""
		for i := range rapid.IntRange(1, 4).Draw(t, "messages") {
			said := fmt.Sprintf("said%d", i)
			m, text := message{Role: rapid.SampledFrom([]string{"system", "user", "assistant",
				"tool"}).Draw(t, "role")}, ""
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				m.Content, text = json.RawMessage(`"`+said+`"`), said
			case 1:
				m.ToolCalls, text = json.RawMessage(`["`+said+`"]`), `["`+said+`"]`
			case 2:
				m, text = message{Type: "function_call", Arguments: said}, said
			case 3:
				m, text = message{Type: "function_call_output", Output: said}, said
			default:
				messages = append(messages, message{Type: "reasoning", Output: said})
				continue
			}
			role := m.Role
			if role == "" {
				role = m.Type
			}
			messages, want = append(messages, m), want+"<"+role+">"+text+"\n"
		}
		got, err := conversation(messages)
		if err != nil || len(got) != 1 || got[0].Text != want+"<assistant>" {
			t.Fatalf("%+v: %+v, %v, want %q", messages, got, err, want)
		}
	})
}
