package sim

// Outage is a failure of a replica: what it holds is gone, and it takes no requests for a while.
type Outage struct {
	// Replica is its index.
	Replica int
	// At is when it begins, For how long it lasts; Never means that the replica does not come back.
	// Where the replica does not run, or another outage is under way, nothing happens.
	At, For Time
}

// Retry says what becomes of the requests of a replica that fails.
type Retry struct {
	// Attempts is how often a request is sent to another replica, to begin anew; 0 means that it is
	// lost at once.
	Attempts int
	// Delay passes before.
	Delay Time
}

// Forgetter is a Memory that keeps tokens for later requests.
type Forgetter interface {
	// Forget drops what no sequence holds.
	Forget()
}

func (f *fleet) fail(o *Outage) {
	r := &f.replicas[o.Replica]
	if r.phase == off || r.phase == failed {
		return
	}
	r.recovers = o.For != Never && r.phase != draining
	if r.recovers {
		f.note(later(f.now, o.For), event{kind: recovering, n: r.index})
	}
	r.result.Up += f.now - r.since
	r.pool.close(r, failed)
	r.generation++
	r.now = f.now
	r.abort()
	f.settle(r)
	for s := r.residents.first; s != nil; {
		next := s.resident.next
		if s.place == atReplica { // others are under way, and find out on arrival
			r.detach(s)
			f.retryOrLose(s)
		}
		s = next
	}
	f.settle(r)
	r.forget()
	if r.pool.hopeless() {
		r.pool.giveUp()
	}
}

func (f *fleet) recover(r *member) {
	r.since = f.now
	f.open(r)
}

// open lets r take requests, those first that wait for a replica.
func (f *fleet) open(r *member) {
	p := r.pool
	p.open(r)
	for s := p.gate.Front(); s != nil && f.err == nil; s = p.gate.Front() {
		p.gate.Remove(s)
		if s.move == nil {
			f.place(s)
			continue
		}
		s.move.computed, s.move.step = f.now, 0
		f.handOver(s)
	}
}

// retryOrLose sends s, whose replica failed, to another replica to begin anew, or ends it as lost.
func (f *fleet) retryOrLose(s *Sequence) {
	switch {
	case s.doomed:
		f.drop(s, s.verdict)
	case s.Retries >= f.retry.Attempts:
		f.drop(s, Lost)
	default:
		f.unassign(s)
		f.yield(s)
		f.result.Retries++
		s.again()
		f.note(later(f.now, f.retry.Delay), event{kind: placing, s: s})
	}
}

// abort ends what r runs: steps that ended before now count, those under way are lost.
func (r *replica) abort() {
	for i := range r.batches {
		b := &r.batches[i]
		if b.flight.active {
			b.leaving = b.leaving[:0] // fail takes all sequences out
			b.abort()
		}
		b.ready = 0
		r.free[i] = r.now
	}
	r.retry, r.linkFree = Never, r.now
	r.schedule()
}

// abort ends what b runs: steps that ended before now count, the one under way is lost, and with it
// all its sequences.
func (b *Batch) abort() {
	r, f := b.r, &b.flight
	done := int64(0)
	if f.leaping {
		done = f.run.ending(r.now-f.start) - 1
	}
	r.planned -= f.steps - done
	lost := max(f.stored-done, 0) // steps that have their memory
	if done > 0 {
		r.fly(b, done)
		f.stored = min(f.stored, done)
		b.land()
	}
	f.active = false
	b.steps += lost
	b.context += lost * int64(b.decodes)
	b.newcomers = b.newcomers[:0]
}

func (r *replica) forget() {
	if m, ok := r.memory.(Forgetter); ok {
		m.Forget()
	}
}
