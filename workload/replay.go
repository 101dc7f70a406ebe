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
