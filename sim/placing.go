package sim

import "fmt"

// arriveNext takes in the next request of the source. Only requests that go on with a session are
// announced before they arrive.
func (f *fleet) arriveNext(at Time) {
	s := f.nextRequest(at)
	switch {
	case f.err != nil:
	case s.Arrival > at && s.Call.Turn == 0:
		f.now = at
		f.schedule(s.Arrival, event{kind: arriving, s: s})
	default:
		f.arrive(s, at)
	}
}

// nextRequest returns the next request of the source, which is expected at the given time. A
// request that is wrong is a fault.
func (f *fleet) nextRequest(at Time) *Sequence {
	s := f.spares.take()
	f.arrivals.source.Next(&s.Request)
	f.arrivals.expect(at)
	f.arrivals.number(&s.Request)
	f.live++
	if at < f.now || s.Arrival < at || s.Arrival-at > f.arrivals.announce {
		f.fault("request %d arrives at %v, announced for %v, when it is %v already",
			s.ID, s.Arrival, at, f.now)
	} else {
		f.err = f.pools.admissible(&s.Request)
	}
	return s
}

// admissible returns an error if q is not a valid request, or if no replica serves its model.
func (p *pools) admissible(q *Request) error {
	switch {
	case q.Prompt < 1 || q.Output < 1:
		return fmt.Errorf("sim: request %d has %d prompt and %d output tokens, want 1 or more of "+
			"each",
			q.ID, q.Prompt, q.Output)
	case p.entry(q) == nil:
		return fmt.Errorf("sim: request %d is for model %d, with a prompt of %d tokens, which no "+
			"replica serves", q.ID, q.Model, q.Prompt)
	}
	return nil
}

// arrive takes in s, which arrives or is announced now.
func (f *fleet) arrive(s *Sequence, now Time) {
	f.now = now
	f.result.Arrived++
	p := f.pools.entry(&s.Request)
	p.arrived++
	if f.admission != nil && !f.admission.Admit(&s.Request, p) {
		f.drop(s, Refused)
		return
	}
	if s.Arrival > f.now {
		f.schedule(s.Arrival, event{kind: beginning, s: s})
	} else {
		f.loads.count(f.now, s, waits, nil)
	}
	if f.queueTimeout > 0 {
		f.schedule(later(s.Arrival, f.queueTimeout), event{kind: timingOut, s: s})
	}
	if s.Patience > 0 && !s.AfterFirst {
		f.schedule(later(s.Arrival, s.Patience), event{kind: cancelling, s: s, n: -1})
	}
	sent, work := f.encoding.encode(&s.Request, f.now)
	f.result.Encoding += work
	if sent == f.now {
		f.place(s)
		return
	}
	s.place = underWay
	f.schedule(sent, event{kind: placing, s: s})
}

// place takes s to a replica.
func (f *fleet) place(s *Sequence) {
	i, ok := f.choose(s, f.router, f.pools.entry(&s.Request))
	if !ok {
		return
	}
	r := &f.replicas[i]
	if why, ok := r.serves(&s.Request); !ok {
		r.result.Rejected++
		f.drop(s, why)
		return
	}
	r.assign(s)
	f.prefetch(r, s, onDisk)
}

// choose asks a router for a replica for s. If no replica accepts requests, s waits at the gate of
// the pool, or ends.
func (f *fleet) choose(s *Sequence, router Router, p *Pool) (replica int, ok bool) {
	if len(p.accepting) == 0 {
		if p.allFailed() {
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

// accept lets s wait and run at r, from its arrival on.
func (f *fleet) accept(r *member, s *Sequence) {
	if f.now < s.Arrival {
		s.place = underWay
		f.schedule(s.Arrival, event{kind: queueing, s: s, n: int(r.generation)})
		return
	}
	s.place = atReplica
	s.Latency = r.latencyOf(s)
	f.loads.count(f.now, s, waits, r.load)
	r.accept(s, f.now)
	f.carryOutEffects(r)
}
