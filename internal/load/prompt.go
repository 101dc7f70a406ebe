package load

import (
	"encoding/json"
	"fmt"

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
		content, err := c.words.Decode(c.prompt(r))
		if err != nil {
			panic(fmt.Sprintf("load: made-up text: %v", err)) // words are in the vocabulary
		}
		v = chat{c.model, []message{{"user", content}}, r.Output, o}
	} else {
		v = completion{c.model, c.prompt(r), r.Output, o}
	}
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("load: request body: %v", err)) // it holds nothing but numbers and text
	}
	return body
}

// unshared keeps the numbers of requests apart from those of segments.
const unshared = 1 << 63

// prompt makes up the prompt of r. What the workload says that prompts share, they share.
func (c *client) prompt(r *sim.Request) []text.Token {
	tokens := make([]text.Token, 0, r.Prompt)
	for _, s := range r.Content {
		for i := range min(s.Tokens, r.Prompt-len(tokens)) {
			tokens = append(tokens, c.words.Word(s.ID, i))
		}
	}
	for i := 0; len(tokens) < r.Prompt; i++ {
		tokens = append(tokens, c.words.Word(uint64(r.ID)|unshared, i))
	}
	return tokens
}
