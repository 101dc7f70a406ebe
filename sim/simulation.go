package sim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Simulation is a run that its owner drives from one instant to the next, as a server in real time,
// a page or a debugger does. Run drives it to the end. The package comment gives the order of
// events at one instant. A Simulation is not safe for concurrent use.
type Simulation struct {
	fleet       *fleet
	sampleEvery Time  // Config.SampleEvery
	sample      Time  // when the next sample is due; Never without samples
	samples     int64 // taken so far; sample is samples·sampleEvery, or Never
	closed      bool  // nothing more comes from outside; Push opens it again
}

// Run simulates until every request of the source has ended, or ctx is cancelled. The configuration
// alone determines the result. Run returns an error if the configuration is wrong, if ctx is
// cancelled, if the source fails, or if a scheduler rests although requests wait.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Source == nil {
		return Result{}, errors.New("sim: no source of requests")
	}
	s, err := New(c)
	if err != nil {
		return Result{}, err
	}
	s.closed, s.fleet.fallible = true, len(c.Outages) > 0
	if a := newParallelRun(s, &c); a != nil {
		if err := a.through(ctx); err != nil {
			return s.Result(), err
		}
	}
	if c.QueueTimeout == 0 && c.Handover == nil && len(c.Outages)+len(c.Wires) == 0 &&
		c.Announce == 0 && c.Encoders == nil {
		for i := range s.fleet.replicas {
			s.fleet.replicas[i].allowBacklog(&s.fleet.spares)
		}
	}
	var cancelled atomic.Bool // quicker to read than ctx.Err
	cancelled.Store(ctx.Err() != nil)
	defer context.AfterFunc(ctx, func() { cancelled.Store(true) })()
	for t := s.Next(); t != Never; t = s.Next() {
		if cancelled.Load() {
			return s.Result(), ctx.Err()
		}
		s.step(t)
	}
	s.conclude()
	return s.Result(), s.Err()
}

// New returns a simulation in which nothing has happened yet. It returns an error if c is wrong.
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

// Now returns the time up to which the simulation has run; 0 at first.
func (s *Simulation) Now() Time { return max(s.fleet.now, 0) }

// Next returns the time of the next event. It returns Never when all requests have ended and the
// time for which the source was asked is over, when nothing more can happen to the remaining
// requests, and after an error: see Err. Even then scalers may still be asked, and replicas may
// fail and recover.
func (s *Simulation) Next() Time {
	f := s.fleet
	at := f.due()
	if f.err != nil || f.over() && at > f.arrivals.until() {
		return Never
	}
	return at
}

// conclude lets the time pass that is left until the end of the run.
func (s *Simulation) conclude() {
	if f := s.fleet; f.err == nil && f.over() {
		end := max(f.result.Ended, f.arrivals.until())
		s.takeSamples(end)
		f.now = max(f.now, end)
	}
}

// Advance carries out all events up to and including the time until, or up to the end if until is
// Never. Afterwards Now returns until.
func (s *Simulation) Advance(until Time) error {
	f := s.fleet
	if until == Never {
		s.closed = true
		for t := s.Next(); t < Never; t = s.Next() {
			s.step(t)
		}
		s.conclude()
		return f.err
	}
	for t := f.due(); t <= until && f.err == nil; t = f.due() {
		s.step(t)
	}
	s.takeSamples(until)
	f.now = max(f.now, until)
	return f.err
}

// Push adds a request from outside. It arrives at r.Arrival, or right after Now if that time has
// passed. Push sets the ID and uses all other fields of r. It returns the ID of the request, or an
// error if the request is wrong.
func (s *Simulation) Push(r Request) (id int64, err error) {
	f := s.fleet
	r.ID = f.arrivals.numbered
	if err := errors.Join(f.err, f.pools.admissible(&r)); err != nil {
		return 0, err
	}
	q := f.spares.take()
	q.Request, q.Content = r, append(q.Content[:0], r.Content...)
	q.Arrival = f.after(r.Arrival)
	f.arrivals.number(&q.Request)
	f.live++
	f.pushed[q.ID] = q
	f.schedule(q.Arrival, event{kind: arriving, s: q})
	f.stuck, s.closed = false, false
	return q.ID, nil
}

// Cancel ends a pushed request now, as when its user goes away. It returns false if the request has
// already ended.
func (s *Simulation) Cancel(id int64) bool {
	q, ok := s.fleet.pushed[id]
	if ok {
		s.fleet.schedule(q.Arrival, event{kind: cancelling, s: q, n: -1})
	}
	return ok
}

// Fail makes a replica fail now for the given time, as an Outage does.
func (s *Simulation) Fail(replica int, lasts Time) error {
	f := s.fleet
	if replica < 0 || replica >= len(f.replicas) || lasts < 0 {
		return fmt.Errorf("sim: replica %d fails for %v; there are %d replicas",
			replica, lasts, len(f.replicas))
	}
	f.outages = append(f.outages, Outage{Replica: replica, At: f.after(f.now), For: lasts})
	f.schedule(f.now, event{kind: failing, n: len(f.outages) - 1})
	return nil
}

// Recover brings a replica that has failed back now. One that has not failed goes on.
func (s *Simulation) Recover(replica int) error {
	f := s.fleet
	if replica < 0 || replica >= len(f.replicas) {
		return fmt.Errorf("sim: replica %d is to come back; there are %d replicas", replica,
			len(f.replicas))
	}
	f.schedule(f.now, event{kind: recovering, n: replica, life: f.replicas[replica].generation})
	return nil
}

// Result returns the figures of the run so far.
func (s *Simulation) Result() Result {
	f := s.fleet
	f.result.Replicas = make([]ReplicaResult, len(f.replicas))
	f.result.End = max(f.result.Ended, f.now)
	if f.over() {
		f.result.End = max(f.result.Ended, min(f.arrivals.until(), f.now))
	}
	end, l := f.result.End, &f.loads
	f.result.Load, f.result.Sets = l.all.until(end), allUntil(end, l.sets)
	f.result.Classes, f.result.Tenants = allUntil(end, l.classes), allUntil(end, l.tenants)
	for i := range f.replicas {
		r := &f.replicas[i]
		r.account(f.result.End)
		w := r.result
		switch span := max(0, f.result.End-r.since); r.phase {
		case off:
		case failed:
			w.Failed += span
		default:
			w.Up += span
		}
		w.KVCapacity = r.memory.Capacity()
		f.result.Replicas[i] = w
	}
	f.result.Links = make([]LinkResult, len(f.links))
	for i := range f.links {
		l := &f.links[i]
		f.result.Links[i] = l.result
		// KV caches whose users have left are on the link for longer than the run lasts.
		f.result.Links[i].Busy -= max(0, l.free-f.result.End)
	}
	return f.result
}

// Err returns the error that stopped the simulation. Once Next is Never, Err also returns an error
// of the source, or an error that names the scheduler that rests although requests wait.
func (s *Simulation) Err() error {
	f := s.fleet
	if f.err != nil || s.Next() != Never {
		return f.err
	}
	if err := f.arrivals.source.Err(); err != nil {
		return err
	}
	return abandoned(f.replicas)
}
