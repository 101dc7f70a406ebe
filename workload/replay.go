package workload

import (
	"errors"
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// replay sends the requests of a trace at the times at which they were recorded. The later turns of
// a recorded session come when the answer before is there, and the tools have worked.
type replay struct {
	limit
	openSessions
	recorded *traceReader
	summary  Summary
}

// newReplay opens a trace that has times.
func newReplay(t *Trace, seed uint64, keepCut bool, l limit) (*replay, error) {
	recorded, err := openTrace(t, seed)
	if err != nil {
		return nil, err
	}
	if !recorded.reader.Timed() {
		recorded.close()
		return nil, fmt.Errorf("workload: %s has no times, allowed: arrivals or users beside it",
			t.Path)
	}
	return &replay{limit: l, openSessions: newOpenSessions(keepCut), recorded: recorded}, nil
}

// NextArrival implements sim.Source.
func (p *replay) NextArrival() sim.Time {
	at := p.waiting.first()
	if !p.recorded.dry {
		at = min(at, p.recorded.ahead.Arrival)
	}
	return p.apply(at)
}

// Next implements sim.Source.
func (p *replay) Next(r *sim.Request) {
	p.left--
	if at := p.waiting.first(); p.recorded.dry || at < p.recorded.ahead.Arrival {
		w := p.waiting.pop()
		w.talk.fill(w.call, r)
		stamp(r, at)
		return
	}
	if calls := p.recorded.fill(r, anyClass); calls != nil {
		p.begin(r, calls, r.Arrival, 0)
	}
	stamp(r, r.Arrival)
}

// Done implements sim.Source; recorded arrivals do not wait for answers, but the calls of a session
// do.
func (p *replay) Done(r *sim.Request, at sim.Time) {
	if r.Session != 0 {
		p.goOn(r, at)
	}
}

// Open implements sim.OpenLoop.
func (p *replay) Open() bool { return !p.recorded.talks() }

// Err implements sim.Source.
func (p *replay) Err() error { return p.recorded.err() }

// Close implements Source.
func (p *replay) Close() error { return p.recorded.close() }

// Counts implements Source.
func (p *replay) Counts() trace.Counts { return p.recorded.counts() }

// Summary implements Source.
func (p *replay) Summary() Summary { return p.summary }

// merged replays recorded workloads together, each at its own times. The requests of trace number k
// have class k. Requests that arrive at the same time are sent in the order of the traces.
type merged struct {
	limit
	parts   []*replay
	summary Summary
}

// newMerged opens the traces.
func newMerged(c Config, l limit) (*merged, error) {
	m := &merged{limit: l, summary: c.summary()}
	for i := range c.Traces {
		part, err := newReplay(&c.Traces[i], c.Seed, c.KeepCut,
			limit{left: math.MaxInt64, until: sim.Never})
		if err == nil && part.recorded.reader.Sessions() {
			err = errors.Join(errRecordedSessions, part.Close())
		}
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.parts = append(m.parts, part)
	}
	return m, nil
}

// first returns the part whose next request is the earliest.
func (m *merged) first() int {
	first := 0
	for k, part := range m.parts {
		if part.NextArrival() < m.parts[first].NextArrival() {
			first = k
		}
	}
	return first
}

// NextArrival implements sim.Source.
func (m *merged) NextArrival() sim.Time { return m.apply(m.parts[m.first()].NextArrival()) }

// Next implements sim.Source. Traces number their texts from 0, each for itself, and share no text.
func (m *merged) Next(r *sim.Request) {
	m.left--
	k := m.first()
	m.parts[k].Next(r)
	r.Class = k
	for i := range r.Content {
		if s := &r.Content[i]; k > 0 {
			s.ID = content.Hash(s.ID + uint64(k))
		}
	}
}

// Done implements sim.Source; recorded arrivals do not wait for answers.
func (m *merged) Done(*sim.Request, sim.Time) {}

// Open implements sim.OpenLoop.
func (m *merged) Open() bool { return true }

// Err implements sim.Source.
func (m *merged) Err() error {
	for _, part := range m.parts {
		if err := part.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Close implements Source.
func (m *merged) Close() error {
	var err error
	for _, part := range m.parts {
		err = errors.Join(err, part.Close())
	}
	return err
}

// Counts implements Source.
func (m *merged) Counts() trace.Counts {
	var sum trace.Counts
	for _, part := range m.parts {
		sum.Add(part.Counts())
	}
	return sum
}

// Summary implements Source.
func (m *merged) Summary() Summary { return m.summary }
