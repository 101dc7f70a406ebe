package sim

import (
	"errors"
	"fmt"
	"slices"
)

// fleet runs the replicas, and what happens between them.
type fleet struct {
	source    Source
	router    Router
	handover  Router
	admission Admission
	observer  Observer
	replicas  []member
	next      tournament // when something happens at each replica
	pools     []*Pool
	entries   []*Pool // where requests go first, by model
	links     []link
	agenda    agenda

	queueTimeout Time
	outages      []Outage
	fallible     bool // replicas may fail
	retry        Retry
	scalings     []Scaling

	now      Time // of what happens, or happened last; -1 before anything did
	arrival  Time // of the next request of the source, or Never
	numbered int64
	live     int  // requests that have not ended
	stuck    bool // nothing can happen any more although there are some
	err      error
	spare    []*Sequence // finished sequences, for reuse
	result   Result
	tokens   func(s *Sequence, n int, at Time)
	pushed   map[int64]*Sequence // requests from outside that have not ended, by ID
}

func newFleet(c *Config) *fleet {
	f := &fleet{
		source: c.Source, router: c.Router, handover: c.Handover, admission: c.Admission,
		observer: c.Observer, next: newTournament(len(c.Replicas)), queueTimeout: c.QueueTimeout,
		outages: slices.Clone(c.Outages), retry: c.Retry, scalings: c.Scalings,
		fallible: true, now: -1, tokens: c.Tokens, pushed: map[int64]*Sequence{},
	}
	if f.source == nil {
		f.source = silence{}
	}
	f.arrival = f.source.NextArrival()
	maxLeap := c.MaxLeap
	if maxLeap == 0 {
		maxLeap = Forever
	}
	f.replicas = make([]member, len(c.Replicas))
	for i := range c.Replicas {
		m := &f.replicas[i]
		*m = newMember(i, &c.Replicas[i], maxLeap)
		m.observed, m.streamed = c.Observer != nil, c.Tokens != nil
		m.init()
		f.join(m, &c.Replicas[i])
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
func (f *fleet) join(r *member, c *ReplicaConfig) {
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
func (f *fleet) pool(model int, role Role) *Pool {
	for _, p := range f.pools {
		if p.model == model && p.role == role {
			return p
		}
	}
	return nil
}

// arriveNext takes in the next request of the source.
func (f *fleet) arriveNext(at Time) {
	s := f.sequence()
	f.source.Next(&s.Request)
	f.arrival = f.source.NextArrival()
	f.number(s)
	if at < f.now || s.Arrival != at {
		f.fault("request %d arrives at %v, announced for %v, when it is %v already",
			s.ID, s.Arrival, at, f.now)
		return
	}
	if f.err = f.admissible(&s.Request); f.err == nil {
		f.arrive(s)
	}
}

// number gives s, which is to arrive, its ID.
func (f *fleet) number(s *Sequence) {
	s.ID = f.numbered
	f.numbered++
	f.live++
}

// admissible returns an error where q makes no sense here.
func (f *fleet) admissible(q *Request) error {
	switch {
	case q.Prompt < 1 || q.Output < 1:
		return fmt.Errorf("sim: request %d has %d prompt and %d output tokens, want 1 or more of "+
			"each",
			q.ID, q.Prompt, q.Output)
	case q.Model < 0 || q.Model >= len(f.entries) || f.entries[q.Model] == nil:
		return fmt.Errorf("sim: request %d is for model %d, which no replica serves", q.ID, q.Model)
	}
	return nil
}

// arrive takes in s, which arrives now.
func (f *fleet) arrive(s *Sequence) {
	f.now = s.Arrival
	f.result.Arrived++
	p := f.entries[s.Model]
	p.arrived++
	if f.admission != nil && !f.admission.Admit(&s.Request, p) {
		f.drop(s, Refused)
		return
	}
	if f.queueTimeout > 0 {
		f.note(later(s.Arrival, f.queueTimeout), event{kind: timingOut, s: s})
	}
	if s.Patience > 0 {
		f.note(later(s.Arrival, s.Patience), event{kind: cancelling, s: s})
	}
	f.place(s)
}

// place takes s to a replica.
func (f *fleet) place(s *Sequence) {
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

// choose asks a router for a replica for s. Where none takes requests, s waits at the gate of the
// pool, or ends.
func (f *fleet) choose(s *Sequence, router Router, p *Pool) (replica int, ok bool) {
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

// accept lets s wait and run at r.
func (f *fleet) accept(r *member, s *Sequence) {
	s.place = atReplica
	s.Latency = r.latency
	r.accept(s, f.now)
	f.settle(r)
}

// reject drops s, which r cannot serve.
func (f *fleet) reject(r *member, s *Sequence, why Rejection) {
	r.result.Rejected++
	f.drop(s, why)
}

// finish counts s, whose last token came out now.
func (f *fleet) finish(s *Sequence) {
	f.unassign(s)
	f.result.Completed++
	f.result.End = max(f.result.End, s.LastToken)
	s.Preemptions += s.preempted
	if f.observer != nil {
		f.observer.Finished(s)
	}
	f.retire(s, s.LastToken+s.Latency)
}

// tell reports the tokens of s that came out since it was last told.
func (f *fleet) tell(s *Sequence, at Time) {
	if n := s.Progress() - s.told; n > 0 {
		s.told += n
		f.tokens(s, n, at)
	}
}

// retire tells the source that s is done with, and keeps its space for reuse.
func (f *fleet) retire(s *Sequence, at Time) {
	f.live--
	if len(f.pushed) > 0 {
		delete(f.pushed, s.ID)
	}
	f.source.Done(&s.Request, f.after(at))
	f.arrival = f.source.NextArrival()
	s.reset()
	f.spare = append(f.spare, s)
}

func (f *fleet) sequence() *Sequence {
	n := len(f.spare)
	if n == 0 {
		return new(Sequence)
	}
	s := f.spare[n-1]
	f.spare = f.spare[:n-1]
	return s
}

// fault stops the simulation with an error.
func (f *fleet) fault(format string, args ...any) {
	f.err = fmt.Errorf("sim: "+format, args...)
}

func (f *fleet) summary() Result {
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
func (f *fleet) giveUp() {
	before := f.live
	for _, p := range f.pools {
		p.giveUp()
	}
	f.stuck = f.live == before
}

// abandoned returns an error where a scheduler rests although requests wait.
func (f *fleet) abandoned() error {
	var errs []error
	for i := range f.replicas {
		r := &f.replicas[i]
		if r.outstanding > 0 {
			errs = append(errs, fmt.Errorf("sim: the scheduler %T of replica %d rests although %d "+
				"requests wait",
				r.scheduler, i, r.outstanding))
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
