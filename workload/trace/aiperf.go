package trace

import (
	"bytes"
	"io"
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// aiperf reads Mooncake's rows as AIPerf sends them (github.com/ai-dynamo/aiperf,
// docs/benchmark-modes/trace-replay.md): the rows of a session_id, one after another, are the turns
// of a conversation. Its first row has a timestamp. The others have a delay, in milliseconds after
// the answer before, and the input_length that they add to the conversation so far: that page tells
// these rows, which accumulate the history, from Bailian's, which hold all of it.
type aiperf struct {
	mooncake
	ahead  aiperfRow // the first of the next session
	ended  bool
	number int64 // of the session that is read, from 1
	later  []Turn
}

// aiperfRow is a row with what its keys say.
type aiperfRow struct {
	sim.Request
	session string
	delay   sim.Time
	follows bool // the answer to the row before
}

// conversations returns whether some of the first rows of a file follow the answers to others.
func conversations(f *file) bool {
	start, _ := f.in.Peek(f.in.Size())
	return bytes.Contains(start, []byte(`"delay"`)) &&
		bytes.Contains(start, []byte(`"session_id"`))
}

func newAIPerf(m *mooncake) (decoder, error) {
	a := &aiperf{mooncake: *m}
	return a, a.next()
}

// turns implements sessions.
func (a *aiperf) turns() []Turn { return a.later }

// next reads a row into ahead.
func (a *aiperf) next() error {
	a.ahead = aiperfRow{}
	err := a.mooncake.decode(&a.ahead.Request)
	if a.ended = err == io.EOF; a.ended {
		return nil
	}
	if err != nil {
		return err
	}
	a.ahead.session = string(a.row.Session)
	a.ahead.follows = a.row.Delay != nil && a.row.Timestamp < 0
	if a.ahead.follows {
		at, err := fromNumber(*a.row.Delay, a.perSecond)
		if err == nil {
			a.ahead.delay, err = at.since(instant{})
		}
		if err != nil {
			return a.file.errorf("delay: found %v, allowed: %s from 0", *a.row.Delay, a.unit)
		}
	}
	return nil
}

// decode reads a session: its first row into r, and the others into later.
func (a *aiperf) decode(r *sim.Request) error {
	if a.ended {
		return io.EOF
	}
	first := a.ahead
	if first.follows {
		return a.file.errorf("delay: found in the first row of the session %.60s; want a "+
			"timestamp there, and the rows of a session one after another", first.session)
	}
	a.number++
	a.later = a.later[:0]
	r.Arrival, r.Session, r.Prompt, r.Output = first.Arrival, a.number, first.Prompt, first.Output
	r.Answer = a.answer(0)
	text, before := a.extend(nil, &first.Request, 0), first
	r.Content = append(r.Content, text...)
	length := first.Prompt + first.Output
	for turn := uint64(1); ; turn++ {
		if err := a.next(); err != nil {
			return err
		}
		next := a.ahead
		if a.ended || !next.follows || next.session != first.session {
			break
		}
		if length += next.Prompt + next.Output; length > maxTokens || turn >= maxRounds {
			return a.file.errorf("session_id: found a session of more than %d tokens, or of more "+
				"than %d turns", maxTokens, maxRounds)
		}
		added := Turn{Output: max(1, next.Output), Wait: next.delay, After: []int{int(turn) - 1}}
		text = append(text, sim.Segment{ID: a.answer(turn - 1), Tokens: max(1, before.Output)})
		text = a.extend(text, &next.Request, turn)
		added.Prompt, added.Answer = slices.Clone(text), a.answer(turn)
		for _, part := range text {
			added.Message += part.Tokens
		}
		a.later = append(a.later, added)
		before = next
	}
	return nil
}

// answer returns what the answer of a turn of the session is called.
func (a *aiperf) answer(turn uint64) uint64 {
	return content.ID(content.TraceBlock, content.Hash((2*turn+1)^
		content.Hash(uint64(a.number)))>>4)
}

// extend returns a text with what a turn adds: what its hashes name, and the rest by itself.
func (a *aiperf) extend(text []sim.Segment, r *sim.Request, turn uint64) []sim.Segment {
	text = append(text, r.Content...)
	left := r.Prompt
	for _, part := range r.Content {
		left -= part.Tokens
	}
	if left > 0 {
		text = append(text, sim.Segment{Tokens: left, ID: content.ID(content.TraceBlock,
			content.Hash((2*turn)^content.Hash(uint64(a.number)))>>4)})
	}
	return text
}
