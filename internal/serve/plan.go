package serve

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// plan is an answer that is known before it is computed: made-up text is, so that a text at which
// to stop is found beforehand. Only how fast it comes depends on the fleet.
type plan struct {
	job    *Job
	choice openai.Choice
	// script gives the pieces of the answer; nil where a model computes it.
	script func(i int) string
	// tokens is the length of the answer, and bytes the length of its text.
	tokens, bytes int
	// repeatable names the answer for later prompts that repeat it; 0 if that cannot be seen.
	repeatable uint64
}

// Vocabulary turns texts into tokens and back. Several goroutines use it.
type Vocabulary interface {
	Encode(s string) ([]text.Token, error)
	Decode(tokens []text.Token) (string, error)
}

// planner turns requests into plans.
type planner struct {
	answers
	texts Vocabulary
	// lengths are the lengths in tokens for answers whose request gives no length.
	lengths []int
}

// completionsDefault is the most tokens of an answer of Completions where a request says nothing
// (the default of OpenAI's API and of vLLM).
const completionsDefault = 16

// plans returns what to compute for a request to a model.
func (p *planner) plans(r *openai.Request, m Model, number int) ([]*plan, error) {
	listener := newListener()
	var all []*plan
	for _, prompt := range r.Prompts {
		tokens := prompt.Tokens
		if tokens == nil {
			var err error
			if tokens, err = p.encode(prompt.Text, m.Context); err != nil {
				return nil, err
			}
		}
		if p.words == nil && prompt.Tokens != nil {
			if _, err := p.texts.Decode(tokens); err != nil {
				return nil, &openai.Error{Status: http.StatusBadRequest, Param: "prompt",
					Message: "prompt: " + err.Error()}
			}
		}
		most := r.MaxTokens
		if most == 0 && r.Endpoint == openai.Completions {
			most = completionsDefault
		}
		if most == 0 {
			most = max(m.Context-len(tokens), 1)
		}
		if len(tokens)+most > m.Context && (r.MaxTokens > 0 || len(tokens) >= m.Context) {
			return nil, openai.TooLong(m.Context, len(tokens), most)
		}
		blocks, name := p.content(tokens)
		for index := range r.N {
			one, err := p.plan(r, p.answer(name, index), most)
			if err != nil {
				return nil, err
			}
			one.job = &Job{
				Request: sim.Request{
					Prompt: max(len(tokens), 1), Output: one.tokens, Priority: r.Priority,
					Content: blocks, Model: number, Answer: one.repeatable,
				},
				Replica: -1, Tenant: r.User, Prompt: tokens, listener: listener,
				IgnoreEnd: r.IgnoreEOS, Logprobs: r.Logprobs,
				Asked: telemetry.Parameters{MaxTokens: r.MaxTokens, N: r.N,
					Finish: one.choice.Finish},
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// bytesPerToken bounds how long a text may be that is turned into tokens to see whether it fits:
// four or five times the average.
const bytesPerToken = 20

// encode returns the tokens of a prompt for a model with the given context.
func (p *planner) encode(prompt string, context int) ([]text.Token, error) {
	if len(prompt) > bytesPerToken*context {
		return nil, openai.TooLong(context, len(prompt)/bytesPerToken, 1)
	}
	tokens, err := p.texts.Encode(prompt)
	if err != nil {
		return nil, &openai.Error{Status: http.StatusBadRequest,
			Message: "the prompt is not valid text: " + err.Error()}
	}
	return tokens, nil
}

// plan makes up the answer of a name.
func (p *planner) plan(r *openai.Request, name uint64, most int) (*plan, error) {
	if p.words == nil {
		return computed(r, most)
	}
	if r.Logprobs > 0 || r.Logprobs == 0 && r.Endpoint != openai.Completions {
		return nil, &openai.Error{Status: http.StatusBadRequest, Param: "logprobs",
			Message: "logprobs: made-up answers have no probabilities to tell"}
	}
	words := func(i int) string { return p.words.Spell(name, i) }
	if r.Call != nil || r.Schema != nil {
		return p.json(r, name, words, most)
	}
	natural := most + 1
	if !r.IgnoreEOS {
		natural = max(p.lengths[name%uint64(len(p.lengths))], r.MinTokens, 1)
	}
	one := &plan{script: words, tokens: min(natural, most), repeatable: name}
	one.choice.Finish = "stop"
	if natural > most {
		one.choice.Finish = "length"
	}
	one.stopAt(r.Stop, r.MinTokens)
	return one, nil
}

// json makes up a tool call, or text that is JSON.
func (p *planner) json(r *openai.Request, name uint64, words openai.Words,
	most int) (*plan, error) {
	one := &plan{choice: openai.Choice{Finish: "stop"}}
	schema := r.Schema
	if r.Call != nil {
		schema = r.Call.Parameters
		one.choice = openai.Choice{Finish: "tool_calls", Call: r.Call.Name,
			CallID: fmt.Sprintf("call_%016x", name)}
		if r.Endpoint == openai.Completions {
			one.choice.Call = ""
		}
	}
	value, err := openai.Instance(schema, words)
	if err != nil {
		return nil, err
	}
	if !json.Valid(value) {
		return nil, &openai.Error{Status: http.StatusInternalServerError,
			Message: "made-up JSON is not valid"}
	}
	tokens, err := p.words.Encode(string(value))
	if err != nil {
		return nil, &openai.Error{Status: http.StatusBadRequest,
			Message: "the schema holds invalid text: " + err.Error()}
	}
	one.script, one.tokens = p.split(tokens), min(len(tokens), most)
	if len(tokens) > most {
		one.choice.Finish = "length"
	}
	one.stopAt(nil, 0)
	return one, nil
}

// split returns the text of tokens in one piece for each, and pieces do not end within a character.
func (p *planner) split(tokens []text.Token) func(i int) string {
	pieces := make([]string, len(tokens))
	left := text.NewStopper(nil, 0)
	for i, t := range tokens {
		pieces[i] = left.Next(p.words.Piece(t))
	}
	return func(i int) string { return pieces[i] }
}

// stopAt ends the answer at the first of the texts at which to stop, after a number of tokens.
func (p *plan) stopAt(stops []string, after int) {
	p.bytes = -1
	if len(stops) == 0 {
		return
	}
	stop, sent := text.NewStopper(stops, after), 0
	for i := range p.tokens {
		sent += len(stop.Next(p.script(i)))
		if stop.By != nil {
			p.tokens, p.bytes, p.choice.Finish, p.choice.Stop = i+1, sent, "stop", stop.By
			return
		}
	}
}

// computed is the plan of an answer that a model computes: only how long it may become is known.
func computed(r *openai.Request, most int) (*plan, error) {
	if r.Call != nil || r.Schema != nil {
		return nil, &openai.Error{Status: 400, Param: "tools",
			Message: "This model calls no tools and knows no schemas."}
	}
	one := &plan{tokens: most, bytes: -1}
	one.choice.Finish = "length"
	return one, nil
}
