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

// Turn is a later request of a recorded session. It repeats the session so far, if the recording
// does not say what its prompt is.
type Turn struct {
	// Message is the number of prompt tokens that it adds, and Output the length of its answer.
	Message, Output int
	// Wait is the time between the answers before and the turn, in which tools work, say.
	Wait sim.Time
	// Prompt is the whole prompt, of Message tokens, and Answer what later prompts call its answer,
	// where the recording says it.
	Prompt []sim.Segment
	Answer uint64
	// After are the numbers of the requests of the session that must have ended, 0 for the first.
	// Without any, Wait counts from the start of the session. Where there is no Prompt, it is the
	// request before.
	After []int
}

// tracelab reads the table of rounds of TraceLab's replays (github.com/uw-syfi/TraceLab): a row for
// each call of a session, the rows of a session one after another.
type tracelab struct {
	file    *file
	at      []int // of tracelabColumns
	columns int
	fields  [][]byte
	session int64 // that is being read, from 1
	ahead   round // the first of the next session
	ended   bool
	later   []Turn
}

// round is a row.
type round struct {
	session         string
	arrival         sim.Time
	round           int
	prefix, message int
	output, wait    int
}

// tracelabColumns are the columns that must be there.
func tracelabColumns() []string {
	return []string{"session_id", "arrival_time", "round_idx", "prefix_len", "input_len",
		"output_len", "tool_wait_after_ms"}
}

// maxRounds bounds the rounds of a session.
const maxRounds = 1<<16 - 1

func fitsTracelab(head []byte) bool {
	return hasColumns(head, tracelabColumns()...)
}

func newTracelab(f *file, _ Options, _ *Counts) (decoder, error) {
	columns, at, err := readHeader(f, "tracelab", tracelabColumns())
	if err != nil {
		return nil, err
	}
	t := &tracelab{file: f, columns: len(columns), at: at}
	if err = t.next(); err == io.EOF {
		t.ended, err = true, nil
	}
	return t, err
}

func (t *tracelab) timed() bool { return true }

// turns implements sessions.
func (t *tracelab) turns() []Turn { return t.later }

// decode reads a session: its first round into r, and the others into later.
func (t *tracelab) decode(r *sim.Request) error {
	if t.ended {
		return io.EOF
	}
	first := t.ahead
	if first.round != 0 {
		return t.file.errorf("round_idx: found %d, allowed: 0 in the first round of a session",
			first.round)
	}
	t.session++
	t.later = t.later[:0]
	r.Arrival, r.Session = first.arrival, t.session
	r.Prompt, r.Output = first.prefix+first.message, first.output
	length, before := r.Prompt+r.Output, first
	for {
		err := t.next()
		if t.ended = err == io.EOF; t.ended {
			return nil
		}
		if err != nil {
			return err
		}
		if t.ahead.session != first.session {
			return nil
		}
		if err := t.follows(before, length); err != nil {
			return err
		}
		t.later = append(t.later, Turn{Message: max(t.ahead.message, 1),
			Output: max(t.ahead.output, 1), Wait: sim.Time(before.wait) * sim.Millisecond})
		length += t.ahead.message + t.ahead.output
		before = t.ahead
	}
}

// follows refuses a round that does not go on where the one before ended.
func (t *tracelab) follows(before round, length int) error {
	switch next := t.ahead; {
	case next.round != before.round+1 || next.round >= maxRounds:
		return t.file.errorf("round_idx: found %d, allowed: %d, the next of the session, and at "+
			"most %d", next.round, before.round+1, maxRounds-1)
	case next.prefix != length:
		return t.file.errorf("prefix_len: found %d, allowed: %d, the session so far; contexts "+
			"that are cut are not read", next.prefix, length)
	case length+next.message+next.output > maxTokens:
		return t.file.errorf("output_len: found a session of more than %d tokens", maxTokens)
	}
	return nil
}

// next reads a row into ahead.
func (t *tracelab) next() error {
	line, err := t.file.next()
	if err != nil {
		return err
	}
	if t.fields, err = fieldsOf(t.file, line, t.fields, t.columns); err != nil {
		return err
	}
	names := tracelabColumns()
	numbers := make([]int, len(names))
	for i := 1; i < len(names); i++ {
		field, most := t.fields[t.at[i]], int64(maxTokens)
		if names[i] == "arrival_time" {
			most = maxNumber
		}
		if numbers[i], err = wholeNumber(t.file, names[i], field, most); err != nil {
			return err
		}
	}
	at, err := fromNumber(float64(numbers[1]), 1000)
	if err != nil {
		return t.file.errorf("arrival_time: %w", err)
	}
	t.ahead = round{session: string(t.fields[t.at[0]]), round: numbers[2], prefix: numbers[3],
		message: numbers[4], output: numbers[5], wait: numbers[6]}
	if t.ahead.arrival, err = at.since(instant{}); err != nil {
		return t.file.errorf("arrival_time: %w", err)
	}
	return nil
}

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
