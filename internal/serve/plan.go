package serve

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/llmsim/llmsim/internal/content"
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
				return nil, openai.Invalid("prompt", "prompt: %v", err)
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
		return nil, openai.Invalid("", "the prompt is not valid text: %v", err)
	}
	return tokens, nil
}

// plan makes up the answer of a name.
func (p *planner) plan(r *openai.Request, name uint64, most int) (*plan, error) {
	if p.words == nil {
		return computed(r, most)
	}
	if r.Logprobs > 0 || r.Logprobs == 0 && r.Endpoint != openai.Completions {
		return nil, openai.Invalid("logprobs",
			"logprobs: made-up answers have no probabilities to tell")
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
		return nil, openai.Invalid("", "the schema holds invalid text: %v", err)
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
		return nil, openai.Invalid("tools", "This model calls no tools and knows no schemas.")
	}
	one := &plan{tokens: most, bytes: -1}
	one.choice.Finish = "length"
	return one, nil
}

// contentBlock is the number of tokens by which prompts are compared: vLLM's block size, the
// smallest of the engines that share whole blocks.
const contentBlock = 16

// What counts as an answer that a prompt repeats: this many of its first words, all of them one
// after the other. That another text has them by chance is less likely than one in a billion.
const leastRepeated = 3

// mostAnswers is the number of answers to one prompt (n of a request) that are recognised later.
const mostAnswers = 8

// answers are the made-up answers of a server.
type answers struct {
	words *text.Vocabulary // nil where answers are computed
	seed  uint64
}

// content describes a prompt for prefix caches. Each segment ends where a whole block of the prompt
// does, where an answer begins that this server gave earlier, or where that answer ends, and its ID
// identifies all tokens up to there. So equal beginnings have equal segments, and an answer is the
// segment of the request that got it. The name identifies the whole prompt.
func (p *answers) content(tokens []text.Token) (list []sim.Segment, name uint64) {
	list = make([]sim.Segment, 0, len(tokens)/contentBlock+1)
	begin := 0
	end := func(at int) {
		if at > begin {
			list = append(list, sim.Segment{ID: name, Tokens: at - begin})
		}
		begin = at
	}
	for i := 0; i < len(tokens); {
		if index, n := p.repeated(name, tokens[i:]); i > 0 && n > 0 {
			end(i)
			list = append(list, sim.Segment{ID: p.answer(name, index), Tokens: n})
			for _, t := range tokens[i : i+n] {
				name = follow(name, t)
			}
			i += n
			begin = i
			continue
		}
		name = follow(name, tokens[i])
		if i++; i%contentBlock == 0 {
			end(i)
		}
	}
	end(len(tokens))
	return list, name
}

// follow returns the name of a text with one token more.
func follow(name uint64, t text.Token) uint64 { return content.Hash(name ^ uint64(uint32(t))) }

// answer names the answer of an index to the prompt of a name, for prefix caches and as the name of
// its made-up words.
func (p *answers) answer(prompt uint64, index int) uint64 {
	return max(content.Hash(p.seed^prompt)+uint64(index), 1)
}

// repeated returns which made-up answer to the prompt of a name comes next, and how many tokens of
// it; 0 if no answer does.
func (p *answers) repeated(prompt uint64, next []text.Token) (index, n int) {
	if p.words == nil {
		return 0, 0
	}
	for index := range mostAnswers {
		name := p.answer(prompt, index)
		n := 0
		for n < len(next) && next[n] == p.words.Word(name, n) {
			n++
		}
		if n >= leastRepeated {
			return index, n
		}
	}
	return 0, 0
}

// mostLengths is the number of a workload's requests from which lengths of answers are drawn.
const mostLengths = 1000

// Lengths returns the lengths of the first answers of a workload, whose users do not wait for them;
// one of 128 tokens without them.
func Lengths(source sim.Source) []int {
	var list []int
	var r sim.Request
	for len(list) < mostLengths {
		at := source.NextArrival()
		if at == sim.Never {
			break
		}
		source.Next(&r)
		list = append(list, r.Output)
		source.Done(&r, at)
	}
	if len(list) == 0 {
		list = append(list, 128)
	}
	return list
}
