package trace

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// tracelabRounds reads the calls that TraceLab recorded (github.com/uw-syfi/TraceLab, example
// sessions and data set): an object a call, the calls of a session one after another. A prompt
// begins with the tokens of the session so far that the provider's cache supplied.
type tracelabRounds struct {
	shareGPT
	ahead    *tracelabCall // the first of the next session; nil at the end
	sessions uint64
	later    []Turn
}

type tracelabCall struct {
	Session string `json:"session_id"`
	Total   int64  `json:"input_tokens_total"`
	Prefix  int64  `json:"prefix_tokens"`
	New     *int64 `json:"newly_append_tokens"`
	Output  int64  `json:"output_tokens"`
	Events  []struct {
		Type string    `json:"event_type"`
		At   time.Time `json:"timestamp"`
	} `json:"timing_events"`
}

func fitsTracelabRounds(head []byte) bool {
	return head[0] == '{' && bytes.Contains(head, []byte(`"newly_append_tokens"`))
}

func newTracelabRounds(f *file, o Options, c *Counts) (decoder, error) {
	d, err := newShareGPT(f, o, c)
	if err != nil {
		return nil, err
	}
	t := &tracelabRounds{shareGPT: *d.(*shareGPT)}
	return t, t.next()
}

// turns implements sessions.
func (t *tracelabRounds) turns() []Turn { return t.later }

// next reads a call into ahead.
func (t *tracelabRounds) next() error {
	t.ahead = nil
	c := &tracelabCall{}
	if err := t.object(c); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	if c.Total < 1 || c.Total > maxTokens || c.Prefix < 0 || c.Prefix > c.Total || c.Output < 0 ||
		c.Output > maxTokens {
		return t.errorf("found input_tokens_total %d, prefix_tokens %d and output_tokens %d, "+
			"allowed: 1 to %d, up to the first, and 0 to %d", c.Total, c.Prefix, c.Output,
			maxTokens, maxTokens)
	}
	if c.New != nil && *c.New != c.Total-c.Prefix {
		return t.errorf("newly_append_tokens: found %d, allowed: %d, input_tokens_total without "+
			"prefix_tokens", *c.New, c.Total-c.Prefix)
	}
	t.ahead = c
	return nil
}

// decode reads a session: its first call into r, and the others into later.
func (t *tracelabRounds) decode(r *sim.Request) error {
	if t.ahead == nil {
		return io.EOF
	}
	first, before := t.ahead, t.ahead
	t.sessions++
	t.later = t.later[:0]
	var text []sim.Segment // of the session so far
	text, answer := t.extend(text, first, 0)
	r.Session, r.Prompt, r.Output, r.Answer = int64(t.sessions), int(first.Total),
		int(first.Output), answer
	r.Content = append(r.Content, text...)
	for number := uint64(1); ; number++ {
		if err := t.next(); err != nil || t.ahead == nil || t.ahead.Session != first.Session {
			return err
		}
		if number >= maxRounds {
			return t.errorf("session_id: found a session of more than %d calls", maxRounds)
		}
		text = append(text, sim.Segment{ID: answer, Tokens: max(1, int(before.Output))})
		text, answer = t.extend(text, t.ahead, number)
		t.later = append(t.later, Turn{Message: int(t.ahead.Total),
			Output: max(1, int(t.ahead.Output)), Wait: t.ahead.after(before),
			Prompt: slices.Clone(text), Answer: answer, After: []int{int(number) - 1}})
		before = t.ahead
	}
}

// extend returns the prompt of a call, which begins with a part of the text before, and what its
// answer is called.
func (t *tracelabRounds) extend(text []sim.Segment, c *tracelabCall, number uint64) ([]sim.Segment,
	uint64) {
	id := func(part uint64) uint64 {
		return content.ID(content.TraceBlock,
			content.Hash((2*number+part)^content.Hash(t.sessions))>>4)
	}
	left := int(c.Prefix)
	kept := 0
	for kept < len(text) && left > 0 {
		text[kept].Tokens = min(text[kept].Tokens, left)
		left -= text[kept].Tokens
		kept++
	}
	text = text[:kept]
	if fresh := int(c.Total-c.Prefix) + left; fresh > 0 {
		text = append(text, sim.Segment{ID: id(0), Tokens: fresh})
	}
	return text, id(1)
}

// after returns the time between the last event of the call before and the last input of c.
func (c *tracelabCall) after(before *tracelabCall) sim.Time {
	var end, ready time.Time
	for _, e := range before.Events {
		if e.At.After(end) {
			end = e.At
		}
	}
	for _, e := range c.Events {
		if (e.Type == "user_message" || e.Type == "tool_result") && e.At.After(ready) {
			ready = e.At
		}
	}
	if end.IsZero() || !ready.After(end) {
		return 0
	}
	return sim.Seconds(ready.Sub(end).Seconds())
}
