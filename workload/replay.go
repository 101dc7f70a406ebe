package workload

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// replay sends the requests of a trace at the times at which they were recorded. The later turns of
// a recorded session come when the answer before is there, and the tools have worked.
type replay struct {
	limit
	talks
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
	return &replay{limit: l, talks: newTalks(), tape: tape}, nil
}

// NextArrival implements sim.Source.
func (p *replay) NextArrival() sim.Time {
	at := p.waiting.first()
	if !p.tape.dry {
		at = min(at, p.tape.ahead.Arrival)
	}
	return p.apply(at)
}

// Next implements sim.Source.
func (p *replay) Next(r *sim.Request) {
	p.left--
	if at := p.waiting.first(); p.tape.dry || at < p.tape.ahead.Arrival {
		w := p.waiting.pop()
		w.talk.fill(w.call, r)
		stamp(r, at)
		return
	}
	if calls := p.tape.fill(r, anyClass); calls != nil {
		p.begin(r, calls, r.Arrival)
	}
	stamp(r, r.Arrival)
}

// Done implements sim.Source; recorded arrivals do not wait for answers, but those of a session do.
func (p *replay) Done(r *sim.Request, at sim.Time) {
	if r.Session != 0 {
		p.goOn(r, at)
	}
}

// Err implements sim.Source.
func (p *replay) Err() error { return p.tape.err() }

// Close implements Source.
func (p *replay) Close() error { return p.tape.close() }

// Counts implements Source.
func (p *replay) Counts() trace.Counts { return p.tape.counts() }

// Summary implements Source.
func (p *replay) Summary() Summary { return p.summary }
