package load

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// completion and chat are the bodies of requests. All ask for exactly the tokens that the workload
// says: ignore_eos and min_tokens are understood by vLLM, SGLang and llmsim serve.
type completion struct {
	Model     string       `json:"model"`
	Prompt    []text.Token `json:"prompt"`
	MaxTokens int          `json:"max_tokens"`
	options
}

type chat struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	MaxTokens int       `json:"max_completion_tokens"`
	options
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type options struct {
	MinTokens   int           `json:"min_tokens"`
	Temperature float64       `json:"temperature"`
	IgnoreEOS   bool          `json:"ignore_eos"`
	Stream      bool          `json:"stream"`
	Streaming   streamOptions `json:"stream_options"`
	Priority    int           `json:"priority,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// body returns the JSON that asks for r.
func (c *client) body(r *sim.Request) []byte {
	o := options{MinTokens: r.Output, IgnoreEOS: true, Stream: true, Streaming: streamOptions{true}}
	o.Priority = r.Priority
	var v any
	if c.chat {
		v = chat{c.model, c.messages(r), r.Output, o}
	} else {
		v = completion{c.model, c.prompt(r), r.Output, o}
	}
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("load: request body: %v", err)) // it holds nothing but numbers and text
	}
	return body
}

// unshared keeps the numbers of requests apart from the segments'.
const unshared = 1 << 63

// prompt makes up the prompt of r. What the workload says that prompts share, they share, and
// a conversation repeats the answers that the server gave.
func (c *client) prompt(r *sim.Request) []text.Token {
	tokens := make([]text.Token, 0, r.Prompt)
	for _, s := range r.Content {
		s.Tokens = min(s.Tokens, r.Prompt-len(tokens))
		tokens = c.answers.appendTo(tokens, s)
	}
	return c.own(tokens, r)
}

// own appends the tokens that only r has, up to the length of its prompt.
func (c *client) own(tokens []text.Token, r *sim.Request) []text.Token {
	for i := 0; len(tokens) < r.Prompt; i++ {
		tokens = append(tokens, c.words.Word(uint64(r.ID)|unshared, i))
	}
	return tokens
}

// messages makes up the prompt of r as a conversation, in which the assistant's messages are the
// answers that the server gave.
func (c *client) messages(r *sim.Request) []message {
	var list []message
	tokens, said := make([]text.Token, 0, r.Prompt), 0 // said are the tokens in messages
	say := func(role string) {
		if len(tokens) > said {
			list = append(list, message{role, c.spell(tokens[said:])})
			said = len(tokens)
		}
	}
	for _, s := range r.Content {
		s.Tokens = min(s.Tokens, r.Prompt-len(tokens))
		_, answered := c.answers.answers[s.ID]
		if answered {
			say("user")
		}
		tokens = c.answers.appendTo(tokens, s)
		if answered {
			say("assistant")
		}
	}
	tokens = c.own(tokens, r)
	say("user")
	return list
}

// spell returns the text of tokens.
func (c *client) spell(tokens []text.Token) string {
	s, err := c.words.Decode(tokens)
	if err != nil {
		panic(fmt.Sprintf("load: made-up text: %v", err)) // all are in the vocabulary
	}
	return s
}

// mostAnswerTokens bounds the tokens of the answers that are kept.
const mostAnswerTokens = 1 << 24

// answerCache keeps the answers that later turns of their conversations repeat, by
// sim.Request.Answer. The oldest are dropped when there are too many.
type answerCache struct {
	words   *text.Vocabulary
	answers map[uint64][]text.Token
	order   []uint64
	tokens  int
}

func newSpoken(words *text.Vocabulary) *answerCache {
	return &answerCache{words: words, answers: map[uint64][]text.Token{}}
}

// add keeps the text of an answer. What cannot be encoded is made up when it is repeated.
func (s *answerCache) add(id uint64, answer string) {
	tokens, err := s.words.Encode(answer)
	if _, known := s.answers[id]; known || err != nil {
		return
	}
	s.answers[id] = tokens
	s.order = append(s.order, id)
	for s.tokens += len(tokens); s.tokens > mostAnswerTokens; s.order = s.order[1:] {
		oldest := s.order[0]
		s.tokens -= len(s.answers[oldest])
		delete(s.answers, oldest)
	}
}

// appendTo appends the tokens of a segment: what was answered, as far as it goes, and then what is
// made up.
func (s *answerCache) appendTo(tokens []text.Token, segment sim.Segment) []text.Token {
	answer := s.answers[segment.ID]
	answer = answer[:min(len(answer), segment.Tokens)]
	tokens = append(tokens, answer...)
	for i := len(answer); i < segment.Tokens; i++ {
		tokens = append(tokens, s.words.Word(segment.ID, i))
	}
	return tokens
}

// inbox holds the answers that requests under way have left for the generator.
type inbox struct {
	mu   sync.Mutex
	full []*answer
	read []*answer
}

func (b *inbox) put(a *answer) {
	b.mu.Lock()
	b.full = append(b.full, a)
	b.mu.Unlock()
}

// take returns the answers since the last call, valid until the next.
func (b *inbox) take() []*answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full, b.read = b.read[:0], b.full
	return b.read
}
