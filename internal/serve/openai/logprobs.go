package openai

import (
	"encoding/json"
	"unicode/utf8"
)

// MostAlternatives is the largest number of alternatives to a token whose probability can be asked
// (vLLM's default limit).
const MostAlternatives = 20

// TokenLogprob is a piece of text and the natural logarithm of its probability.
type TokenLogprob struct {
	Text    string
	Logprob float64
}

// TokenLogprobs is a token that came out with its probability, and the most likely tokens at its
// place.
type TokenLogprobs struct {
	TokenLogprob
	Top []TokenLogprob
}

// Logprobs returns the probabilities of tokens as the endpoint shows them. Offset is the number of
// characters of the answer before the first of them.
func (e Endpoint) Logprobs(list []TokenLogprobs, offset int) json.RawMessage {
	if e == Completions {
		return completionLogprobs(list, offset)
	}
	type one struct {
		Token   string  `json:"token"`
		Logprob float64 `json:"logprob"`
		Bytes   []int   `json:"bytes"`
	}
	type token struct {
		one
		Top []one `json:"top_logprobs"`
	}
	single := func(o TokenLogprob) one {
		numbers := make([]int, len(o.Text))
		for i := range len(o.Text) {
			numbers[i] = int(o.Text[i])
		}
		return one{o.Text, o.Logprob, numbers}
	}
	content := []token{}
	for _, o := range list {
		t := token{one: single(o.TokenLogprob), Top: []one{}}
		for _, other := range o.Top {
			t.Top = append(t.Top, single(other))
		}
		content = append(content, t)
	}
	return mustMarshal(struct {
		Content []token `json:"content"`
		Refusal *string `json:"refusal"`
	}{Content: content})
}

// completionLogprobs returns the shape of Completions.
func completionLogprobs(list []TokenLogprobs, offset int) json.RawMessage {
	shape := struct {
		Offsets []int                `json:"text_offset"`
		Values  []float64            `json:"token_logprobs"`
		Tokens  []string             `json:"tokens"`
		Top     []map[string]float64 `json:"top_logprobs"`
	}{[]int{}, []float64{}, []string{}, []map[string]float64{}}
	for _, o := range list {
		top := map[string]float64{o.Text: o.Logprob}
		for _, other := range o.Top {
			top[other.Text] = other.Logprob
		}
		shape.Offsets = append(shape.Offsets, offset)
		shape.Values = append(shape.Values, o.Logprob)
		shape.Tokens = append(shape.Tokens, o.Text)
		shape.Top = append(shape.Top, top)
		offset += utf8.RuneCountInString(o.Text)
	}
	return mustMarshal(shape)
}

// readLogprobs takes how many alternatives the client wants to know the probabilities of.
func (r *Request) readLogprobs(b *body) error {
	r.Logprobs = -1
	switch {
	case r.Endpoint == Responses && !idle(b.TopLogprobs):
		return Invalid("top_logprobs", "top_logprobs: this endpoint gives no probabilities")
	case absent(b.Logprobs) || string(b.Logprobs) == "false":
		if !idle(b.TopLogprobs) {
			return Invalid("top_logprobs", "top_logprobs: only allowed where logprobs is true")
		}
		return nil
	}
	number := b.Logprobs
	if r.Endpoint != Completions {
		if string(b.Logprobs) != "true" {
			return Invalid("logprobs", "logprobs: found something other than true or false")
		}
		if number = b.TopLogprobs; absent(number) {
			number = []byte("0")
		}
	}
	if json.Unmarshal(number, &r.Logprobs) != nil || r.Logprobs < 0 ||
		r.Logprobs > MostAlternatives {
		r.Logprobs = -1
		return Invalid("logprobs", "logprobs: found %s, allowed: 0 to %d alternatives",
			shorten(string(number)), MostAlternatives)
	}
	return nil
}
