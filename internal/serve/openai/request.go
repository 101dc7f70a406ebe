// Package openai is the wire format of OpenAI's API, with vLLM's additions: requests as clients
// send them, checked, and the shapes of answers. It knows nothing of who answers.
package openai

import (
	"cmp"
	"encoding/json"
	"math"
)

// Request is a client's request for a completion or a chat.
type Request struct {
	Endpoint Endpoint
	Model    string
	// Prompts are answered N times each. Chat and Responses have one.
	Prompts []Prompt
	N       int
	// MaxTokens is the most that an answer may have; 0 means unsaid.
	MaxTokens, MinTokens int
	IgnoreEOS            bool
	Stop                 []string
	Priority             int
	// Logprobs is the number of alternatives to each token of the answer whose probabilities are
	// told beside its own; −1 for no probabilities.
	Logprobs int
	// User names who asks, for servers that tell tenants apart.
	User string

	Stream, IncludeUsage, ContinuousUsage bool

	// Call is the function that the answer calls; nil for an answer of text.
	Call *Function
	// Schema is the JSON Schema that the text must satisfy; nil for plain text.
	Schema json.RawMessage
}

// Prompt is a text or, where Tokens is not nil, numbers of tokens.
type Prompt struct {
	Text   string
	Tokens []int32
}

// Limits on what one request may ask for.
const (
	maxPrompts = 1024
	maxN       = 128
	maxStop    = 16
	maxTools   = 128
	maxTokens  = 1 << 30
)

// body has the fields of all endpoints that are read.
type body struct {
	Model           string          `json:"model"`
	Prompt          json.RawMessage `json:"prompt"`
	Messages        []message       `json:"messages"`
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	MaxTokens       *int            `json:"max_tokens"`
	MaxCompletion   *int            `json:"max_completion_tokens"`
	MaxOutput       *int            `json:"max_output_tokens"`
	MinTokens       int             `json:"min_tokens"`
	N               *int            `json:"n"`
	Stop            json.RawMessage `json:"stop"`
	IgnoreEOS       bool            `json:"ignore_eos"`
	Priority        int             `json:"priority"`
	User            string          `json:"user"`
	Safety          string          `json:"safety_identifier"`
	Temperature     *float64        `json:"temperature"`
	TopP            *float64        `json:"top_p"`
	Echo            bool            `json:"echo"`
	Suffix          string          `json:"suffix"`
	Logprobs        json.RawMessage `json:"logprobs"`
	TopLogprobs     json.RawMessage `json:"top_logprobs"`
	IncludeStop     bool            `json:"include_stop_str_in_output"`
	Stream          bool            `json:"stream"`
	StreamOptions   *streamOptions  `json:"stream_options"`
	Tools           []tool          `json:"tools"`
	ToolChoice      json.RawMessage `json:"tool_choice"`
	ResponseFormat  *format         `json:"response_format"`
	Text            *textOptions    `json:"text"`
	StructuredInput *structured     `json:"structured_outputs"`
	// Names that older versions of vLLM have for the fields of structured_outputs.
	GuidedJSON    json.RawMessage `json:"guided_json"`
	GuidedChoice  json.RawMessage `json:"guided_choice"`
	GuidedRegex   json.RawMessage `json:"guided_regex"`
	GuidedGrammar json.RawMessage `json:"guided_grammar"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
	Continuous   bool `json:"continuous_usage_stats"`
}

// Parse reads the body of a request to an endpoint. The error is an *Error.
func Parse(endpoint Endpoint, data []byte) (*Request, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, jsonError(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, jsonError(err)
	}
	if err := refuseFields(endpoint, fields); err != nil {
		return nil, err
	}
	r := &Request{
		Endpoint: endpoint, Model: b.Model, N: 1, MinTokens: b.MinTokens, IgnoreEOS: b.IgnoreEOS,
		Priority: b.Priority, Stream: b.Stream, User: cmp.Or(b.Safety, b.User),
	}
	if o := b.StreamOptions; o != nil {
		r.IncludeUsage, r.ContinuousUsage = o.IncludeUsage, o.Continuous
		if !b.Stream {
			return nil, Invalid("stream_options",
				"stream_options: only allowed where stream is true")
		}
	}
	for _, step := range []func(*body) error{r.readPrompt, r.readLimits, r.readStop, b.refuse,
		r.readTools, r.readSchema, r.readLogprobs} {
		if err := step(&b); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readPrompt takes the prompt from the field that the endpoint has for it.
func (r *Request) readPrompt(b *body) error {
	var err error
	switch r.Endpoint {
	case Completions:
		r.Prompts, err = prompts(b.Prompt)
	case Chat:
		r.Prompts, err = conversation(b.Messages)
	case Responses:
		r.Prompts, err = input(b.Instructions, b.Input)
	}
	return err
}

// readLimits takes how many answers are wanted, and how long they may be.
func (r *Request) readLimits(b *body) error {
	if b.N != nil {
		r.N = *b.N
	}
	if r.N < 1 || r.N > maxN {
		return Invalid("n", "n: found %d, allowed: 1 to %d", r.N, maxN)
	}
	for _, limit := range []struct {
		name  string
		value *int
	}{{"max_tokens", b.MaxTokens}, {"max_completion_tokens", b.MaxCompletion},
		{"max_output_tokens", b.MaxOutput}} {
		if limit.value == nil {
			continue
		}
		if *limit.value < 1 || *limit.value > maxTokens {
			return Invalid(limit.name, "%s: found %d, allowed: 1 to %d", limit.name, *limit.value,
				maxTokens)
		}
		r.MaxTokens = *limit.value
	}
	most := maxTokens
	if r.MaxTokens > 0 {
		most = r.MaxTokens
	}
	if r.MinTokens < 0 || r.MinTokens > most {
		return Invalid("min_tokens", "min_tokens: found %d, allowed: 0 to %d", r.MinTokens, most)
	}
	return nil
}

// readStop takes a text or a list of texts.
func (r *Request) readStop(b *body) error {
	if absent(b.Stop) {
		return nil
	}
	var one string
	if json.Unmarshal(b.Stop, &one) == nil {
		r.Stop = []string{one}
	} else if err := json.Unmarshal(b.Stop, &r.Stop); err != nil {
		return Invalid("stop", "stop: found something other than a text or a list of texts")
	}
	if len(r.Stop) > maxStop {
		return Invalid("stop", "stop: found %d texts, allowed: at most %d", len(r.Stop), maxStop)
	}
	for _, s := range r.Stop {
		if s == "" {
			return Invalid("stop", "stop: found an empty text")
		}
	}
	return nil
}

// refuse names what made-up answers cannot have.
func (b *body) refuse(*body) error {
	switch {
	case b.Temperature != nil && !(*b.Temperature >= 0 && *b.Temperature <= 2):
		return Invalid("temperature", "temperature: found %v, allowed: 0 to 2", *b.Temperature)
	case b.TopP != nil && !(*b.TopP > 0 && *b.TopP <= 1):
		return Invalid("top_p", "top_p: found %v, allowed: above 0, at most 1", *b.TopP)
	case b.Echo:
		return Invalid("echo", "echo: this server does not repeat prompts")
	case b.Suffix != "":
		return Invalid("suffix", "suffix: this server does not fill in the middle of texts")
	case b.IncludeStop:
		return Invalid("include_stop_str_in_output",
			"include_stop_str_in_output: this server ends answers before the text at which to stop")
	}
	return nil
}

// prompts reads a text, a list of texts, a list of tokens, or a list of those.
func prompts(raw json.RawMessage) ([]Prompt, error) {
	if absent(raw) {
		return nil, Invalid("prompt", "prompt: found none")
	}
	var list []Prompt
	var one string
	var texts []string
	var tokens []int64
	var rows [][]int64
	switch {
	case json.Unmarshal(raw, &one) == nil:
		list = []Prompt{{Text: one}}
	case json.Unmarshal(raw, &texts) == nil:
		for _, t := range texts {
			list = append(list, Prompt{Text: t})
		}
	case json.Unmarshal(raw, &tokens) == nil:
		rows = [][]int64{tokens}
	case json.Unmarshal(raw, &rows) != nil:
		return nil, Invalid("prompt",
			"prompt: found something other than a text, tokens, or a list of either")
	}
	for _, row := range rows {
		p := Prompt{Tokens: make([]int32, len(row))}
		for i, t := range row {
			if t < 0 || t > math.MaxInt32 {
				return nil, Invalid("prompt", "prompt: found token %d, allowed: numbers of tokens",
					t)
			}
			p.Tokens[i] = int32(t)
		}
		list = append(list, p)
	}
	if len(list) == 0 || len(list) > maxPrompts {
		return nil, Invalid("prompt", "prompt: found %d prompts, allowed: 1 to %d", len(list),
			maxPrompts)
	}
	for _, p := range list {
		if p.Text == "" && len(p.Tokens) == 0 {
			return nil, Invalid("prompt", "prompt: found an empty one")
		}
	}
	return list, nil
}
