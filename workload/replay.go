package workload

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// replay sends the requests of a trace at the times at which they were recorded.
type replay struct {
	limit
	tape    *tape
	summary Summary
}

// newReplay opens a trace that has times.
func newReplay(t *Trace, seed uint64, l limit) (*replay, error) {
	tape, err := openTape(t, seed)
	if err != nil {
		return nil, err
	}
	if !tape.reader.Timed() {
		tape.close()
		return nil, fmt.Errorf("workload: %s has no times, allowed: arrivals or users beside it",
			t.Path)
	}
	return &replay{limit: l, tape: tape}, nil
}

// NextArrival implements sim.Source.
func (p *replay) NextArrival() sim.Time {
	if p.tape.dry {
		return sim.Never
	}
	return p.apply(p.tape.ahead.Arrival)
}

// Next implements sim.Source.
func (p *replay) Next(r *sim.Request) {
	p.left--
	p.tape.fill(r, anyClass)
	stamp(r, r.Arrival)
}

// Done implements sim.Source; recorded arrivals do not wait for answers.
func (p *replay) Done(*sim.Request, sim.Time) {}

// Err implements sim.Source.
func (p *replay) Err() error { return p.tape.err() }

// Close implements Source.
func (p *replay) Close() error { return p.tape.close() }

// Counts implements Source.
func (p *replay) Counts() trace.Counts { return p.tape.counts() }

// Summary implements Source.
func (p *replay) Summary() Summary { return p.summary }
