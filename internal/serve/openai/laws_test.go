package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// decoded returns what JSON says, with its numbers as they are written.
func decoded(t *rapid.T, data []byte) (object map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return object
}

// at returns the value at a path of keys and indices.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[p]
		case int:
			list, _ := v.([]any)
			if p >= len(list) {
				return nil
			}
			v = list[p]
		}
	}
	return v
}

// says returns the text at a path, empty where there is none.
func says(v any, path ...any) string { text, _ := at(v, path...).(string); return text }

// A stream says what the document of the same answer says, in pieces: who answers, the text or the
// call of each choice, why it ended, its probabilities and the usage. Events of Responses are
// numbered from 0, and the last has the document itself.
func TestAStreamIsItsDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Head{Endpoint: rapid.SampledFrom([]Endpoint{Completions, Chat, Responses}).Draw(t,
			"endpoint"),
			ID: "id-1", Model: "a \"model\"", Created: rapid.Int64Range(0, 1e9).Draw(t, "created")}
		u := Usage{Prompt: rapid.IntRange(1, 99).Draw(t, "prompt"), Completion: 7, Cached: 3}
		continuous, whole := rapid.Bool().Draw(t, "continuous"), rapid.Bool().Draw(t,
			"usage at the end")
		n := 1
		if h.Endpoint != Responses {
			n = rapid.IntRange(1, 3).Draw(t, "choices")
		}
		s := NewStream(h, continuous)
		var choices []Choice
		for i := range n {
			pieces := rapid.SliceOf(rapid.SampledFrom([]string{" word", "\"", "\\", "\n", "é",
				"<"})).Draw(t, "text")
			c := Choice{Text: strings.Join(pieces, ""),
				Finish: rapid.SampledFrom([]string{"stop", "length"}).Draw(t, "finish")}
			if h.Endpoint != Completions && rapid.Bool().Draw(t, "calls") {
				c.Call, c.CallID = "f", "call-1"
			}
			if stop := "e\"nd"; rapid.Bool().Draw(t, "stopped") {
				c.Stop = &stop
			}
			if h.Endpoint != Responses && rapid.Bool().Draw(t, "probabilities") {
				c.Logprobs = json.RawMessage(`{"tokens":["x"]}`)
			}
			choices = append(choices, c)
			s.Begin(i, &c)
			for _, piece := range pieces {
				s.Piece(i, &c, piece, &u)
			}
			s.Logprobs = c.Logprobs
			s.Finish(i, &c, &u)
		}
		if whole {
			s.End(&u)
		} else {
			s.End(nil)
		}
		document := decoded(t, h.Document(choices, u))
		text, ended := string(s.Bytes), strings.HasSuffix(string(s.Bytes), "data: [DONE]\n\n")
		if ended == (h.Endpoint == Responses) {
			t.Errorf("the end is said: %v", ended)
		}
		if h.Endpoint == Responses {
			responseEvents(t, text, document, &choices[0])
			return
		}
		events := strings.Split(strings.TrimSuffix(text, "data: [DONE]\n\n"), "\n\n")
		content, last := make([]string, n), make([]any, n)
		usages := 0
		for k, line := range events[:len(events)-1] {
			data, _ := strings.CutPrefix(line, "data: ")
			e := decoded(t, []byte(data))
			if says(e, "id") != h.ID || says(e, "model") != h.Model ||
				at(e, "created") != document["created"] || says(e, "object") != h.object(true) {
				t.Errorf("the head of %v is not the one of %v", e, document)
			}
			if e["usage"] != nil {
				usages++
				if !reflect.DeepEqual(e["usage"], document["usage"]) {
					t.Errorf("usage %v, want %v", e["usage"], document["usage"])
				}
			}
			c := at(e, "choices", 0)
			if c == nil {
				if k != len(events)-2 || !whole {
					t.Errorf("event %d of %d has no choice", k, len(events))
				}
				continue
			}
			var i int
			if _, err := fmt.Sscan(fmt.Sprint(at(c, "index")), &i); err != nil {
				t.Fatal(err)
			}
			content[i] += says(c, "text") + says(c, "delta", "content") +
				says(c, "delta", "tool_calls", 0, "function", "arguments")
			if name := says(c, "delta", "tool_calls", 0, "function", "name"); name != "" &&
				(name != choices[i].Call || says(c, "delta", "tool_calls", 0, "id") != "call-1") {
				t.Errorf("the call is %v", c)
			}
			last[i] = c
		}
		pieces := 0
		for i, c := range choices {
			pieces++
			want := at(document, "choices", i)
			for _, key := range []string{"finish_reason", "stop_reason", "logprobs", "index"} {
				if got := at(last[i], key); !reflect.DeepEqual(got, at(want, key)) {
					t.Errorf("%s of choice %d: %v, want %v", key, i, got, at(want, key))
				}
			}
			whole := says(want, "text") + says(want, "message", "content") +
				says(want, "message", "tool_calls", 0, "function", "arguments")
			if content[i] != c.Text || whole != c.Text ||
				says(want, "message", "tool_calls", 0, "function", "name") != c.Call {
				t.Errorf("choice %d is %q, and in the document %v, want %q", i, content[i], want,
					c.Text)
			}
		}
		if least := pieces; continuous && usages < least || !continuous && usages > 1 ||
			!continuous && (usages == 1) != whole {
			t.Errorf("the usage is told %d times in %d events", usages, len(events)-1)
		}
	})
}

// responseEvents checks the events of Responses against the document.
func responseEvents(t *rapid.T, text string, document map[string]any, c *Choice) {
	pieces, finals, kinds := "", "", map[string]int{}
	var last map[string]any
	for k, event := range strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		e := decoded(t, []byte(data))
		if says(e, "type") != name || fmt.Sprint(at(e, "sequence_number")) != fmt.Sprint(k) {
			t.Errorf("event %d is %s: %v", k, name, e)
		}
		kinds[name]++
		pieces += says(e, "delta")
		finals += says(e, "text") + says(e, "arguments")
		if id := says(e, "item_id"); id != "" && id != says(document, "output", 0, "id") {
			t.Errorf("%s is of item %q", name, id)
		}
		switch name {
		case "response.output_item.done":
			if !reflect.DeepEqual(e["item"], at(document, "output", 0)) {
				t.Errorf("the item is %v, want %v", e["item"], at(document, "output", 0))
			}
		case "response.content_part.done":
			if !reflect.DeepEqual(e["part"], at(document, "output", 0, "content", 0)) {
				t.Errorf("the part is %v", e["part"])
			}
		case "response.created", "response.in_progress":
			if says(e, "response", "status") != "in_progress" || at(e, "response", "usage") != nil {
				t.Errorf("%v", e)
			}
		}
		last = e
	}
	calls, status := c.Call != "", map[string]string{"stop": "completed",
		"length": "incomplete"}[c.Finish]
	if pieces != c.Text || finals != c.Text || says(document, "status") != status ||
		says(last, "type") != "response."+status || !reflect.DeepEqual(last["response"],
		any(document)) ||
		(at(document, "incomplete_details") == nil) != (c.Finish == "stop") ||
		says(document, "output", 0, "content", 0, "text")+says(document, "output", 0,
			"arguments") !=
			c.Text || says(document, "output", 0, "name") != c.Call {
		t.Errorf("pieces %q, at the end %q, want %q; the document is %v, the last event %v", pieces,
			finals, c.Text, document, last)
	}
	for kind, want := range map[string]bool{"created": true, "in_progress": true,
		"output_item.added": true, "output_item.done": true, "content_part.added": !calls,
		"content_part.done": !calls, "output_text.done": !calls,
		"function_call_arguments.done": calls} {
		if n := kinds["response."+kind]; (n == 1) != want || n > 1 {
			t.Errorf("response.%s comes %d times", kind, n)
		}
	}
}

// The tokens of a prompt and of an answer are together the total; cached ones are told apart.
func TestUsageAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := Usage{Prompt: rapid.IntRange(0, 1<<20).Draw(t, "prompt"),
			Completion: rapid.IntRange(0, 1<<20).Draw(t, "answer"), Cached: rapid.IntRange(0,
				9).Draw(t, "cached")}
		for e, names := range map[Endpoint][2]string{Completions: {"prompt", "completion"},
			Chat: {"prompt", "completion"}, Responses: {"input", "output"}} {
			got := decoded(t, u.appendTo(nil, e))
			for key, want := range map[string]int{names[0] + "_tokens": u.Prompt,
				names[1] + "_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion} {
				if fmt.Sprint(got[key]) != fmt.Sprint(want) {
					t.Errorf("%s is %v, want %d", key, got[key], want)
				}
			}
			if n := at(got, names[0]+"_tokens_details",
				"cached_tokens"); fmt.Sprint(n) != fmt.Sprint(u.Cached) {
				t.Errorf("%v cached tokens, want %d", n, u.Cached)
			}
		}
	})
}

// Each token has its text, its bytes and its place behind the ones before it, in characters.
func TestLogprobsHaveTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []TokenLogprobs
		texts, offset := []string{}, rapid.IntRange(0, 99).Draw(t, "offset")
		for range rapid.IntRange(0, 5).Draw(t, "tokens") {
			text := rapid.SampledFrom([]string{"a", "é", "日本"}).Draw(t, "text")
			texts = append(texts, text)
			list = append(list, TokenLogprobs{TokenLogprob{text, -0.5}, []TokenLogprob{{"other",
				-2}}})
		}
		shown := decoded(t, Completions.Logprobs(list, offset))
		chat := decoded(t, Chat.Logprobs(list, offset))
		for i, text := range texts {
			content := at(chat, "content", i)
			var bytes []byte
			numbers, _ := at(content, "bytes").([]any)
			for _, n := range numbers {
				v, err := n.(json.Number).Int64()
				testkit.OK(t, err)
				bytes = append(bytes, byte(v))
			}
			place := offset + utf8.RuneCountInString(strings.Join(texts[:i], ""))
			if string(bytes) != text || says(content, "token") != text ||
				says(content, "top_logprobs", 0, "token") != "other" || says(shown, "tokens",
				i) != text ||
				fmt.Sprint(at(shown, "text_offset", i)) != fmt.Sprint(place) ||
				fmt.Sprint(at(shown, "token_logprobs", i)) != "-0.5" ||
				fmt.Sprintf("%v %v", at(shown, "top_logprobs", i, text), at(shown, "top_logprobs",
					i, "other")) !=
					"-0.5 -2" || fmt.Sprint(at(content, "logprob")) != "-0.5" {
				t.Errorf("token %d is %v and %v", i, content, shown)
			}
		}
	})
}

// A field is taken within its bounds, and refused by its name beyond them.
func TestFieldsHaveBounds(t *testing.T) {
	texts := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + "]"
	}
	tools := func(n int) string {
		one := `{"type":"function","function":{"name":"f"}},`
		return "[" + strings.TrimSuffix(strings.Repeat(one, n), ",") + "]"
	}
	for field, bounds := range map[string][2][]string{ // taken, refused
		"n":           {{"1", "128", "null"}, {"0", "129", "-1"}},
		"max_tokens":  {{"1", "1073741824", "null"}, {"0", "1073741825"}},
		"min_tokens":  {{"0", "1073741824"}, {"-1", "1073741825"}},
		"stop":        {{`"a"`, "null", texts(16)}, {texts(17), `""`, `[""]`, "7"}},
		"temperature": {{"0", "2"}, {"-0.1", "2.1"}},
		"top_p":       {{"0.1", "1"}, {"0", "1.1"}},
		"echo":        {{"false"}, {"true"}},
		"suffix":      {{`""`}, {`"x"`}},
		"logprobs":    {{"0", "20", "null", "false"}, {"-1", "21", `"x"`}},
		"tools": {{tools(1), tools(128)}, {tools(129), `[{"type":"x"}]`,
			`[{"type":"function"}]`}},
		"tool_choice": {{`"auto"`, `"none"`}, {`"required"`, `"x"`, "{}", `{"name":"g"}`}},
		"response_format": {{`{"type":"text"}`, `{"type":"json_object"}`}, {`{"type":"x"}`,
			`{"type":"json_schema"}`}},
		"include_stop_str_in_output": {{"false"}, {"true"}},
	} {
		for i, values := range bounds {
			for _, value := range values {
				_, err := Parse(Completions, fmt.Appendf(nil, `{"prompt":"p",%q:%s}`, field, value))
				if (err == nil) != (i == 0) || err != nil && !strings.HasPrefix(err.Error(),
					field) {
					t.Errorf("%s: %.40s: %v", field, value, err)
				}
			}
		}
	}
	for _, c := range []struct {
		endpoint Endpoint
		body     string
		holds    func(r *Request) bool
	}{
		{Completions, `{"prompt":"p"}`, func(r *Request) bool {
			return r.N == 1 && r.Logprobs == -1 && r.Call == nil && r.Schema == nil &&
				r.MaxTokens == 0
		}},
		{Completions, `{"prompt":"p","max_tokens":3,"min_tokens":3,"logprobs":2,"stop":"a"}`,
			func(r *Request) bool {
				return r.MaxTokens == 3 && r.MinTokens == 3 && r.Logprobs == 2 && r.Stop[0] == "a"
			}},
		{Completions, `{"prompt":"p","max_tokens":3,"min_tokens":4}`, nil},
		{Completions, `{"prompt":"p","stream_options":{"include_usage":true}}`, nil},
		{Completions, `{"prompt":"p","stream":true,"stream_options":{"include_usage":true}}`,
			func(r *Request) bool { return r.Stream && r.IncludeUsage && !r.ContinuousUsage }},
		{Chat, `{"messages":[{"role":"user","content":"p"}],"logprobs":true,"top_logprobs":4}`,
			func(r *Request) bool { return r.Logprobs == 4 }},
		{Chat, `{"messages":[{"role":"user","content":"p"}],"logprobs":true}`,
			func(r *Request) bool { return r.Logprobs == 0 }},
		{Chat, `{"messages":[{"role":"user","content":"p"}],"top_logprobs":4}`, nil},
		{Chat, `{"messages":[{"role":"user","content":"p"}],"logprobs":1}`, nil},
		{Chat, `{"messages":[{"role":"user","content":"p"}],"tools":` + tools(1) + `}`,
			func(r *Request) bool { return r.Call != nil && r.Call.Name == "f" }},
		{Chat, `{"messages":[{"role":"user","content":"p"}],"tool_choice":"none","tools":` +
			tools(1) +
			`}`, func(r *Request) bool { return r.Call == nil }},
		{Chat, `{"messages":[{"role":"tool","content":"p"}],"tools":` + tools(1) + `}`,
			func(r *Request) bool { return r.Call == nil }},
		{Chat, `{"messages":[{"role":"tool","content":"p"}],"tool_choice":"required","tools":` +
			tools(1) + `}`, func(r *Request) bool { return r.Call != nil }},
		{Chat, `{"messages":[{"role":"tool","content":"p"}],"tool_choice":{"type":"function",` +
			`"function":{"name":"f"}},"tools":` + tools(2) + `}`,
			func(r *Request) bool { return r.Call.Name == "f" }},
		{Chat,
			`{"messages":[{"role":"user","content":"p"}],"response_format":{"type":"json_schema",` +
				`"json_schema":{"schema":{"type":"null"}}}}`,
			func(r *Request) bool { return string(r.Schema) == `{"type":"null"}` }},
		{Completions, `{"prompt":"p","guided_json":{"type":"null"}}`,
			func(r *Request) bool { return string(r.Schema) == `{"type":"null"}` }},
		{Completions, `{"prompt":"p","structured_outputs":{"json_object":true}}`,
			func(r *Request) bool { return string(r.Schema) == `{"type":"object"}` }},
		{Completions, `{"prompt":"p","guided_regex":"a"}`, nil},
		{Completions, `{"prompt":"p","structured_outputs":{"choice":["a"]}}`, nil},
		{Responses, `{"input":"p","top_logprobs":2}`, nil},
		{Responses, `{"input":"p","instructions":"be brief"}`,
			func(r *Request) bool { return strings.Contains(fmt.Sprint(r.Prompts), "be brief") }},
		{Responses,
			`{"input":"p","text":{"format":{"type":"json_schema","schema":{"type":"null"}}}}`,
			func(r *Request) bool { return string(r.Schema) == `{"type":"null"}` }},
	} {
		r, err := Parse(c.endpoint, []byte(c.body))
		if (err == nil) != (c.holds != nil) || err == nil && !c.holds(r) {
			t.Errorf("%v %s: %+v, %v", c.endpoint, c.body, r, err)
		}
	}
}

// The number for a schema keeps each bound, where an integer keeps them all; it is the least such
// number that is not below 1.
func TestLeastNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, keep := object{}, func(float64) bool { return true }
		for key, keeps := range map[string]func(v, bound float64) bool{
			"minimum":          func(v, bound float64) bool { return v >= bound },
			"exclusiveMinimum": func(v, bound float64) bool { return v > bound },
			"maximum":          func(v, bound float64) bool { return v <= bound },
			"exclusiveMaximum": func(v, bound float64) bool { return v < bound }} {
			if bound := rapid.IntRange(-5, 6).Draw(t, key); bound < 6 {
				s[key] = json.Number(fmt.Sprint(bound))
				before := keep
				keep = func(v float64) bool { return before(v) && keeps(v, float64(bound)) }
			}
		}
		want := math.NaN()
		for v := -20.0; v < 20; v++ { // the largest below 1, or the least from 1 on
			if keep(v) {
				if want = v; v >= 1 {
					break
				}
			}
		}
		if got := least(s); !math.IsNaN(want) && got != want {
			t.Errorf("%v: %g, want %g", s, got, want)
		}
	})
}

// A prompt is a text or tokens, and several are a list of either: each is read as it is, and an
// empty one, a number that is no token, or more than 1,024 are refused.
func TestPromptsAreReadAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Prompt
		texts := rapid.Bool().Draw(t, "texts")
		for range rapid.SampledFrom([]int{0, 1, 2, 3, 1024, 1025}).Draw(t, "prompts") {
			p := Prompt{Text: "a text"}
			if !texts {
				p = Prompt{Tokens: []int32{0, 7, math.MaxInt32}[:1+len(want)%3]}
			}
			want = append(want, p)
		}
		var value any
		var rows [][]int32
		var words []string
		for _, p := range want {
			rows, words = append(rows, p.Tokens), append(words, p.Text)
		}
		if value = rows; texts {
			value = words
		}
		if n := len(want); n == 1 && rapid.Bool().Draw(t, "alone") {
			if value = rows[0]; texts {
				value = words[0]
			}
		}
		raw, err := json.Marshal(value)
		testkit.OK(t, err)
		got, err := prompts(raw)
		if ok := len(want) > 0 && len(want) <= 1024; (err == nil) != ok ||
			ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%.60s: %d prompts, want %d: %v", raw, len(got), len(want), err)
		}
	})
	for _, text := range []string{`""`, `["a",""]`, "[]", "[[]]", "[-1]", "[2147483648]", "7",
		"null",
		"[[1],[]]", `["a",1]`} {
		if got, err := prompts(json.RawMessage(text)); err == nil ||
			!strings.HasPrefix(err.Error(), "prompt: found ") {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
}
