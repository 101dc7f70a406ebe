package trace

import (
	"io"

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
