package sim

import (
	"context"
	"errors"
	"fmt"
)

// Simulation is a run that its owner drives from one instant to the next, as a server in real time,
// a page or a debugger does; Run drives it to the end. The package comment gives the order of what
// happens at one instant. A Simulation is not safe for concurrent use.
type Simulation struct {
	fleet       *fleet
	sampleEvery Time
	sample      Time // when the next sample is due, or Never
	closed      bool // nothing more comes from outside
}

// Run simulates until every request of the source has ended, or ctx is cancelled. The result is
// determined by the configuration alone. The error is the context's, the source's, or says which
// scheduler left requests behind.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Source == nil {
		return Result{}, errors.New("sim: no source of requests")
	}
	s, err := New(c)
	if err != nil {
		return Result{}, err
	}
	s.closed, s.fleet.fallible = true, len(c.Outages) > 0
	for t := s.Next(); t != Never; t = s.Next() {
		if err := ctx.Err(); err != nil {
			return s.Result(), err
		}
		s.step(t)
	}
	return s.Result(), s.Err()
}

// New returns a simulation in which nothing has happened yet, or what is wrong with c.
func New(c Config) (*Simulation, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Simulation{fleet: newFleet(&c), sampleEvery: c.SampleEvery, sample: Never}
	if c.SampleEvery > 0 && c.Observer != nil {
		s.sample = 0
	}
	return s, nil
}

// Now returns the time up to which everything has happened, 0 at first.
func (s *Simulation) Now() Time { return max(s.fleet.now, 0) }

// Next returns when something happens next. It is Never when all requests have ended, or nothing
// can happen to requests that have not, or after an error: see Err. Scalers may still be asked, and
// replicas fail and recover.
func (s *Simulation) Next() Time {
	f := s.fleet
	if f.err != nil || f.arrival == Never && (f.live == 0 || f.stuck) {
		return Never
	}
	return f.due()
}

// Advance carries out everything that happens up to and including the time until; if that is Never,
// up to the end. Afterwards it is until.
func (s *Simulation) Advance(until Time) error {
	f := s.fleet
	if until == Never {
		s.closed = true
		for t := s.Next(); t < Never; t = s.Next() {
			s.step(t)
		}
		return f.err
	}
	for t := f.due(); t <= until && f.err == nil; t = f.due() {
		s.step(t)
	}
	s.takeSamples(until)
	f.now = max(f.now, until)
	return f.err
}

// Push lets a request come from outside, at r.Arrival, or right after Now where that is over. Of
// all other fields of r but ID, each has its meaning. Push returns the ID of the request, or what
// is wrong with it.
func (s *Simulation) Push(r Request) (id int64, err error) {
	f := s.fleet
	r.ID = f.numbered
	if err := errors.Join(f.err, f.admissible(&r)); err != nil {
		return 0, err
	}
	q := f.sequence()
	q.Request, q.Content = r, append(q.Content[:0], r.Content...)
	q.Arrival = f.after(r.Arrival)
	f.number(q)
	f.pushed[q.ID] = q
	f.note(q.Arrival, event{kind: arriving, s: q})
	f.stuck, s.closed = false, false
	return q.ID, nil
}

// Cancel lets the user of a request that was pushed go away now. It returns false where the request
// has ended.
func (s *Simulation) Cancel(id int64) bool {
	q, ok := s.fleet.pushed[id]
	if ok {
		s.fleet.note(q.Arrival, event{kind: cancelling, s: q})
	}
	return ok
}

// Fail lets a replica fail now for the given time, as an Outage does.
func (s *Simulation) Fail(replica int, lasts Time) error {
	f := s.fleet
	if replica < 0 || replica >= len(f.replicas) || lasts < 0 {
		return fmt.Errorf("sim: replica %d fails for %v; there are %d replicas",
			replica, lasts, len(f.replicas))
	}
	f.outages = append(f.outages, Outage{Replica: replica, At: f.after(f.now), For: lasts})
	f.note(f.now, event{kind: failing, n: len(f.outages) - 1})
	return nil
}

// Result returns what can be counted so far.
func (s *Simulation) Result() Result { return s.fleet.summary() }

// Err returns what broke the simulation. Once Next is Never, it is also what broke the source, or
// says which scheduler rests although requests wait.
func (s *Simulation) Err() error {
	f := s.fleet
	if f.err != nil || s.Next() != Never {
		return f.err
	}
	if err := f.source.Err(); err != nil {
		return err
	}
	return f.abandoned()
}
