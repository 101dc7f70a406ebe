package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

func words(i int) string { return fmt.Sprintf(" word%d", i) }

// TestInstancesAreValid makes up schemas and checks that what is made of them satisfies them, by a
// validator that is not ours.
func TestInstancesAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema, err := json.Marshal(drawSchema(t, 0))
		testkit.OK(t, err)
		value, err := Instance(schema, words)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		valid(t, schema, value)
	})
}

// With oneOf, exactly one alternative accepts what is made, or oneOf is refused by name. What
// alternatives tell apart by a constant is always made.
func TestOneAlternativeAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "alternatives")
		told := rapid.Bool().Draw(t, "told apart")
		var list []any
		for i := range n {
			one := drawSchema(t, 2)
			if told {
				one = map[string]any{"type": "object", "required": []string{"kind"},
					"properties": map[string]any{"kind": map[string]any{"const": i}, "a": one}}
			}
			list = append(list, one)
		}
		schema, err := json.Marshal(map[string]any{"oneOf": list})
		testkit.OK(t, err)
		value, err := Instance(schema, words)
		switch {
		case err == nil:
			valid(t, schema, value)
		case told || n == 1 || !strings.Contains(err.Error(), " oneOf: "):
			t.Fatalf("%s: %v", schema, err)
		}
	})
}

// A text of a format has the asked length, and is of the format by a reader that is not ours. What
// fits within bounds fits within wider ones, and addresses of every length that they may have are
// made.
func TestFormatsKeepLengths(t *testing.T) {
	read := map[string]func(string) error{
		"date-time": func(s string) error { _, err := time.Parse(time.RFC3339, s); return err },
		"date":      func(s string) error { _, err := time.Parse(time.DateOnly, s); return err },
		"time":      func(s string) error { _, err := time.Parse("15:04:05Z", s); return err },
		"duration": func(s string) error {
			if !regexp.MustCompile(`^P(\d+D|T\d+M)$`).MatchString(s) {
				return errors.New("no duration")
			}
			return nil
		},
		"email": func(s string) error { _, err := mail.ParseAddress(s); return err },
		"hostname": func(s string) error {
			if !regexp.MustCompile(`^[a-z]{1,63}(\.[a-z]{1,63})*$`).MatchString(s) {
				return errors.New("no host")
			}
			return nil
		},
		"ipv4": func(s string) error { _, err := netip.ParseAddr(s); return err },
		"ipv6": func(s string) error { _, err := netip.ParseAddr(s); return err },
		"uuid": func(s string) error { return nil },
		"uri":  func(s string) error { _, err := url.Parse(s); return err },
	}
	always := map[string][2]int{"ipv4": {7, 15}, "ipv6": {2, 39}, "hostname": {1, 63},
		"email": {6, 69}, "uri": {3, 80}, "duration": {3, 80}}
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom(slices.Sorted(maps.Keys(read))).Draw(t, "format")
		least := rapid.IntRange(0, 40).Draw(t, "least")
		most := least + rapid.IntRange(0, 40).Draw(t, "span")
		made := func(least, most int) (text string, err error) {
			schema := fmt.Sprintf(`{"type":"string","format":%q,"minLength":%d,"maxLength":%d}`,
				format, least, most)
			value, err := Instance(json.RawMessage(schema), words)
			if err != nil {
				return "", err
			}
			testkit.OK(t, json.Unmarshal(value, &text))
			if len(text) < least || len(text) > most || read[format](text) != nil {
				t.Fatalf("%s: made %q", schema, text)
			}
			return text, nil
		}
		_, narrow := made(least, most)
		_, wide := made(max(0, least-rapid.IntRange(0, 9).Draw(t, "below")),
			most+rapid.IntRange(0, 9).Draw(t, "above"))
		known, ok := always[format]
		if narrow == nil && wide != nil ||
			narrow != nil && ok && max(least, known[0]) <= min(most, known[1]) ||
			narrow != nil && !strings.Contains(narrow.Error(), " format: ") {
			t.Fatalf("%s of %d to %d characters: %v; with wider bounds: %v", format, least, most,
				narrow, wide)
		}
	})
}

// drawSchema draws a schema that some value satisfies.
func drawSchema(t *rapid.T, depth int) any {
	kinds := []string{"string", "integer", "number", "boolean", "null", "enum", "const",
		"pattern"}
	if depth < 3 {
		kinds = append(kinds, "object", "array", "anyOf", "allOf", "propertyNames")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "object":
		properties, required := map[string]any{}, []string{}
		for _, name := range []string{"a", "b", "c d"} {
			if rapid.Bool().Draw(t, "has") {
				properties[name] = drawSchema(t, depth+1)
				if rapid.Bool().Draw(t, "required") {
					required = append(required, name)
				}
			}
		}
		return map[string]any{"type": "object", "properties": properties, "required": required,
			"additionalProperties": false}
	case "propertyNames": // leave b out
		return map[string]any{"type": "object", "propertyNames": map[string]any{"pattern": "^[ac]"},
			"properties": map[string]any{"a": drawSchema(t, depth+1), "b": drawSchema(t, depth+1)},
			"required":   []string{"a", "c"}, "additionalProperties": drawSchema(t, depth+1)}
	case "array":
		n := rapid.IntRange(0, 3).Draw(t, "items")
		return map[string]any{"type": "array", "items": drawSchema(t, depth+1), "minItems": n,
			"maxItems": n + 1}
	case "anyOf":
		return map[string]any{"anyOf": []any{drawSchema(t, depth+1), drawSchema(t, depth+1)}}
	case "allOf":
		parts := []any{drawSchema(t, depth+1)}
		if rapid.Bool().Draw(t, "bounds") {
			low := rapid.IntRange(-9, 9).Draw(t, "low")
			parts = []any{map[string]any{"type": "integer", "minimum": low, "maximum": low + 20},
				map[string]any{"minimum": low + 9, "maximum": low + 12},
				map[string]any{"maximum": 30}}
		}
		return map[string]any{"allOf": parts}
	case "integer", "number":
		low := rapid.IntRange(-50, 50).Draw(t, "low")
		return map[string]any{"type": kind, "minimum": low, "maximum": low +
			rapid.IntRange(0, 50).Draw(t, "span")}
	case "string":
		least := rapid.IntRange(0, 30).Draw(t, "least")
		return map[string]any{"type": kind, "minLength": least, "maxLength": least + 10}
	case "enum":
		return map[string]any{"enum": []any{"x", 3, nil}}
	case "const":
		return map[string]any{"const": rapid.SampledFrom([]any{"y", 4.5, true}).Draw(t, "const")}
	case "pattern":
		return map[string]any{"type": "string", "pattern": rapid.SampledFrom([]string{
			`^[A-Z]{2}-\d{3,5}$`, `^(true|false)?$`, `[^a-z]+@\w+\.(com|org)`, `^#[0-9a-fA-F]{6}$`,
			`^$`, `\bword\b`, `^.{3}x*$`}).Draw(t, "pattern")}
	default:
		return map[string]any{"type": kind}
	}
}

// What a schema asks for and this server does not follow is refused by name, wherever it stands.
func TestKeywordsAreFollowedOrRefused(t *testing.T) {
	for schema, want := range map[string]string{
		`{"not":{"type":"string"}}`:                                    "not:",
		`{"if":{},"then":{"type":"string"}}`:                           "if:",
		`{"type":"object","patternProperties":{"^a":{}}}`:              "patternProperties:",
		`{"type":"array","contains":{"const":5}}`:                      "contains:",
		`{"type":"string","pattern":"^(?=a)b"}`:                        "pattern:",
		`{"type":"string","pattern":"^a$","minLength":3}`:              "pattern:",
		`{"type":"string","pattern":"\\bb\\B"}`:                        "pattern:",
		`{"type":"object","minProperties":2}`:                          "minProperties:",
		`{"properties":{"a":{}},"maxProperties":0}`:                    "maxProperties:",
		`{"items":{"type":"boolean"},"uniqueItems":true,"minItems":2}`: "uniqueItems:",
		`{"required":["b"],"propertyNames":{"maxLength":0}}`:           "propertyNames:",
		`{"oneOf":[{"type":"number"},{"type":"integer"}]}`:             "oneOf:",
		`{"oneOf":[{"const":1},{"const":1.0}]}`:                        "oneOf:",
		`{"type":"string","format":"date","maxLength":9}`:              "format:",
		`{"type":"string","minLength":3,"maxLength":2}`:                "minLength:",
		`{"type":"integer","minimum":0.5,"maximum":0.75}`:              "imum:",
		`{"allOf":[{"type":"string"},{"type":"integer"}]}`:             "type:",
		`{"properties":{"a":{"allOf":[{"not":{}}]}},"required":["a"]}`: "not:",
	} {
		value, err := Instance(json.RawMessage(schema), words)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: made %s, %v; want a refusal that names %s", schema, value, err, want)
		}
	}
	value, err := Instance(json.RawMessage(
		`{"items":{"type":"string"},"uniqueItems":true,"minItems":3}`), words)
	if err != nil {
		t.Errorf("%s, %v", value, err)
	}
}

// Types that contain themselves are legal, in the form that strict schemas have, too: a list, a
// tree, and either under a reference.
func TestRecursiveSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"$defs":{"node":{"type":"object","properties":{"value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["value","next"],"additionalProperties":false}},"$ref":"#/$defs/node"}`,
		`{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name","children"],"additionalProperties":false}`,
		`{"$defs":{"e":{"oneOf":[{"type":"object","properties":{"left":{"$ref":"#/$defs/e"},"right":{"$ref":"#/$defs/e"}},"required":["left","right"]},{"type":"integer"}]}},"type":"object","properties":{"e":{"$ref":"#/$defs/e"}},"required":["e"]}`,
		`{"type":["object","null"],"properties":{"next":{"$ref":"#"}},"required":["next"]}`,
	} {
		value, err := Instance(json.RawMessage(schema), words)
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		valid(t, []byte(schema), value)
	}
}

// valid checks an instance by a validator that is not ours.
func valid(t interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}, schema, value []byte) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	var instance any
	if err := json.Unmarshal(value, &instance); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	if err := resolved.Validate(instance); err != nil {
		t.Errorf("%s is no instance of %s: %v", value, schema, err)
	}
}

// TestSchemasWithoutEnd refuses schemas whose instances never end, or would take too much.
func TestSchemasWithoutEnd(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`,
		`{"$ref":"#"}`,
		`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"type":"array","minItems":60000,"items":{"type":"array","minItems":60000,"items":{"type":"null"}}}`,
		`false`,
	} {
		if value, err := Instance(json.RawMessage(schema), words); err == nil && len(value) > 1000 {
			t.Errorf("%s: made %d bytes", schema, len(value))
		}
	}
	// One that may end, does.
	value, err := Instance(json.RawMessage(`{"type":"object","properties":{"next":{"$ref":"#"}}}`),
		words)
	if err != nil || strings.Count(string(value), "next") != optionalDepth {
		t.Errorf("%s: %v", value, err)
	}
}

// FuzzParse reads any body for any endpoint within bounded memory and time: it is a request within
// bounds, or an error that names a status of the client's.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"x","max_tokens":3}`, `{"prompt":[[1,2],[3]],"n":2,"stop":["a"]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"input":[{"role":"user","content":"x"}],"text":{"format":{"type":"json_schema","schema":{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"null"}]}}}}}}`,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		testkit.Bounded(t, len(body), func() {
			for _, endpoint := range []Endpoint{Completions, Chat, Responses} {
				parseAnything(t, endpoint, body)
			}
		})
	})
}

func parseAnything(t *testing.T, endpoint Endpoint, body string) {
	r, err := Parse(endpoint, []byte(body))
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Status < 400 || e.Status > 499 || !json.Valid(e.Body()) {
			t.Errorf("%q: %v", body, err)
		}
		return
	}
	if len(r.Prompts) < 1 || len(r.Prompts) > maxPrompts || r.N < 1 || r.N > maxN ||
		len(r.Stop) > maxStop {
		t.Errorf("%q: %+v", body, r)
	}
	schema := r.Schema
	if r.Call != nil {
		schema = r.Call.Parameters
	}
	if schema != nil {
		if value, err := Instance(schema, words); err == nil &&
			(!json.Valid(value) || len(value) > 16*maxInstance) {
			t.Errorf("%q: made %d bytes", body, len(value))
		}
	}
}
