package sim

import (
	"context"
	"errors"
	"fmt"
)

// Fleet runs the replicas, and what happens between them.
type Fleet struct {
	source    Source
	router    Router
	handover  Router
	admission Admission
	observer  Observer
	replicas  []replica
	next      tournament // when something happens at each replica
	pools     []*Pool
	entries   []*Pool // where requests go first, by model
	links     []link
	agenda    agenda

	queueTimeout Time
	outages      []Outage
	retry        Retry
	scalings     []Scaling

	now    Time
	live   int  // requests that have not ended
	stuck  bool // nothing can happen any more although there are some
	err    error
	spare  []*Sequence // finished sequences, for reuse
	result Result
}

// eventsPerCheck is how many events pass between two looks at the context.
const eventsPerCheck = 4096

// Run simulates until every request of the source is answered or rejected, or ctx is cancelled. The result is determined by
// the configuration alone. The error is the context's, the source's, or says which scheduler left requests behind.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	f := newFleet(&c)
	sample := Never
	if c.SampleEvery > 0 && c.Observer != nil {
		sample = 0
	}
	for events := 0; ; events++ {
		if events%eventsPerCheck == 0 && ctx.Err() != nil {
			return f.summary(), context.Cause(ctx)
		}
		arrival := f.source.NextArrival()
		if arrival == Never && (f.live == 0 || f.stuck) {
			break
		}
		// At the same time, arrivals come before what is on the agenda, and that before what happens at replicas; of these, the
		// one with the lowest index comes first.
		i, key := f.next.min()
		at, noted := Time(key), f.agenda.next()
		first := min(arrival, noted, at)
		if first == Never {
			break
		}
		switch {
		case sample < first:
			f.sample(sample)
			sample += c.SampleEvery
		case arrival == first:
			f.arrive(arrival)
		case noted == first:
			stuck := arrival == Never && at == Never && f.agenda.pending == 0
			f.happen(f.agenda.pop())
			if stuck && f.agenda.pending == 0 {
				f.giveUp() // no scaler starts a replica for those who wait for one
			}
		default:
			f.now = at
			f.replicas[i].advance(at)
			f.next.set(i, int64(f.replicas[i].next))
		}
		if f.err != nil {
			return f.summary(), f.err
		}
	}
	if err := f.source.Err(); err != nil {
		return f.summary(), err
	}
	return f.summary(), f.abandoned()
}

func newFleet(c *Config) *Fleet {
	f := &Fleet{
		source: c.Source, router: c.Router, handover: c.Handover, admission: c.Admission, observer: c.Observer,
		next: newTournament(len(c.Replicas)), queueTimeout: c.QueueTimeout, outages: c.Outages, retry: c.Retry, scalings: c.Scalings,
	}
	maxLeap := c.MaxLeap
	if maxLeap == 0 {
		maxLeap = Forever
	}
	f.replicas = make([]replica, len(c.Replicas))
	for i := range c.Replicas {
		f.replicas[i] = newReplica(f, i, &c.Replicas[i], maxLeap)
		f.replicas[i].init()
		f.join(&f.replicas[i], &c.Replicas[i])
	}
	for _, l := range c.Links {
		f.links = append(f.links, link{Link: l})
	}
	for n, o := range c.Outages {
		f.agenda.push(event{at: o.At, kind: failing, n: n})
	}
	for n, s := range c.Scalings {
		f.pool(s.Model, s.Role).scaled = true
		f.agenda.push(event{at: s.Every, kind: scaling, n: n})
	}
	return f
}

// join makes r a member of its pool.
func (f *Fleet) join(r *replica, c *ReplicaConfig) {
	p := f.pool(c.Model, c.Role)
	if p == nil {
		p = &Pool{fleet: f, model: c.Model, role: c.Role}
		f.pools = append(f.pools, p)
		for len(f.entries) <= c.Model {
			f.entries = append(f.entries, nil)
		}
		if c.Role == Prefill || c.Role == Mixed && f.entries[c.Model] == nil {
			f.entries[c.Model] = p
		}
	}
	r.pool, r.position = p, len(p.members)
	p.members = append(p.members, r.index)
	if c.Off {
		r.phase = off
	} else {
		p.accepting = append(p.accepting, r.index)
	}
}

// pool returns the replicas of a model and a role, or nil.
func (f *Fleet) pool(model int, role Role) *Pool {
	for _, p := range f.pools {
		if p.model == model && p.role == role {
			return p
		}
	}
	return nil
}

// arrive takes in the next request of the source.
func (f *Fleet) arrive(at Time) {
	s := f.sequence()
	f.source.Next(&s.Request)
	s.ID = f.result.Arrived
	switch {
	case at < f.now || s.Arrival != at:
		f.fault("request %d arrives at %v, announced for %v, when it is %v already", s.ID, s.Arrival, at, f.now)
		return
	case s.Prompt < 1 || s.Output < 1:
		f.fault("request %d has %d prompt and %d output tokens, want 1 or more of each", s.ID, s.Prompt, s.Output)
		return
	case s.Model < 0 || s.Model >= len(f.entries) || f.entries[s.Model] == nil:
		f.fault("request %d is for model %d, which no replica serves", s.ID, s.Model)
		return
	}
	f.now = at
	f.live++
	f.result.Arrived++
	p := f.entries[s.Model]
	p.arrived++
	if f.admission != nil && !f.admission.Admit(&s.Request, p) {
		f.drop(s, Refused)
		return
	}
	if f.queueTimeout > 0 {
		f.note(later(at, f.queueTimeout), event{kind: timingOut, s: s})
	}
	if s.Patience > 0 {
		f.note(later(at, s.Patience), event{kind: cancelling, s: s})
	}
	f.place(s)
}

// place takes s to a replica.
func (f *Fleet) place(s *Sequence) {
	i, ok := f.choose(s, f.router, f.entries[s.Model])
	if !ok {
		return
	}
	r := &f.replicas[i]
	if why, ok := r.serves(&s.Request); !ok {
		f.reject(r, s, why)
		return
	}
	f.assign(r, s)
	f.accept(r, s)
}

// choose asks a router for a replica for s. Where none takes requests, s waits at the gate of the pool, or ends.
func (f *Fleet) choose(s *Sequence, router Router, p *Pool) (replica int, ok bool) {
	if len(p.accepting) == 0 {
		if p.hopeless() {
			f.drop(s, Unavailable)
			return 0, false
		}
		s.place = atGate
		p.gate.Push(s)
		return 0, false
	}
	i := router.Route(&s.Request, p)
	if i < 0 || i >= len(f.replicas) {
		f.fault("the router sent request %d to replica %d of %d", s.ID, i, len(f.replicas))
		return 0, false
	}
	r := &f.replicas[i]
	if r.phase != serving || r.pool.model != s.Model || s.move != nil && r.role == Prefill {
		f.fault("the router sent request %d to replica %d, which does not take it", s.ID, i)
		return 0, false
	}
	return i, true
}

// serves tells whether r can serve q, and if not, why.
func (r *replica) serves(q *Request) (why Rejection, ok bool) {
	tokens := q.Prompt + q.Output - 1 // the last token's KV is never stored
	if r.role == Prefill {
		tokens = q.Prompt
	}
	switch {
	case r.limit > 0 && q.Prompt+q.Output > r.limit:
		return TooLong, false
	case !r.memory.Fits(tokens):
		return TooLarge, false
	}
	return 0, true
}

// accept lets s wait and run at r.
func (f *Fleet) accept(r *replica, s *Sequence) {
	s.place = atReplica
	r.accept(s, f.now)
	f.next.set(r.index, int64(r.next))
}

// reject drops s, which r cannot serve.
func (f *Fleet) reject(r *replica, s *Sequence, why Rejection) {
	r.result.Rejected++
	f.drop(s, why)
}

// finish counts s, whose last token came out now.
func (f *Fleet) finish(s *Sequence) {
	f.unassign(s)
	f.result.Completed++
	f.result.End = max(f.result.End, s.LastToken)
	s.Preemptions += s.preempted
	if f.observer != nil {
		f.observer.Finished(s)
	}
	f.retire(s, s.LastToken+s.Latency)
}

// retire tells the source that s is done with, and keeps its space for reuse.
func (f *Fleet) retire(s *Sequence, at Time) {
	f.live--
	f.source.Done(&s.Request, f.after(at))
	s.reset()
	f.spare = append(f.spare, s)
}

func (f *Fleet) sequence() *Sequence {
	n := len(f.spare)
	if n == 0 {
		return new(Sequence)
	}
	s := f.spare[n-1]
	f.spare = f.spare[:n-1]
	return s
}

func (f *Fleet) sample(at Time) {
	for i := range f.replicas {
		r := &f.replicas[i]
		state := r.state(at, false)
		state.Slots, r.sampled = r.slots, at
		f.observer.Sampled(at, i, state)
	}
}

// fault stops the simulation with an error.
func (f *Fleet) fault(format string, args ...any) {
	f.err = fmt.Errorf("sim: "+format, args...)
}

func (f *Fleet) summary() Result {
	f.result.Replicas = make([]ReplicaResult, len(f.replicas))
	for i := range f.replicas {
		r := &f.replicas[i]
		w := r.result
		if r.phase != off && r.phase != failed {
			w.Up += max(0, f.result.End-r.since)
		}
		w.KVCapacity = r.memory.Capacity()
		f.result.Replicas[i] = w
	}
	f.result.Links = make([]LinkResult, len(f.links))
	for i := range f.links {
		f.result.Links[i] = f.links[i].result
	}
	return f.result
}

// giveUp ends the requests that wait for a replica; if there are none, all is stuck.
func (f *Fleet) giveUp() {
	before := f.live
	for _, p := range f.pools {
		p.giveUp()
	}
	f.stuck = f.live == before
}

// abandoned returns an error where a scheduler rests although requests wait.
func (f *Fleet) abandoned() error {
	var errs []error
	for i := range f.replicas {
		r := &f.replicas[i]
		if r.outstanding > 0 {
			errs = append(errs, fmt.Errorf("sim: the scheduler %T of replica %d rests although %d requests wait", r.scheduler, i, r.outstanding))
		}
	}
	return errors.Join(errs...)
}

// later returns at + span, or Never where that is out of range.
func later(at, span Time) Time {
	if span >= Never-at {
		return Never
	}
	return at + span
}
