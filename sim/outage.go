package sim

func (f *fleet) fail(o *Outage) {
	r := &f.replicas[o.Replica]
	if r.phase == off || r.phase == failed {
		return
	}
	r.recovers = o.For != Never && r.phase != draining
	if r.recovers {
		f.schedule(later(f.now, o.For),
			event{kind: recovering, n: r.index, life: r.generation + 1})
	}
	r.result.Up += f.now - r.since
	if r.since = f.now; r.phase == draining {
		r.since = Never
	}
	r.pool.close(r, failed)
	r.generation++
	r.abort(f.now)
	f.carryOutEffects(r)
	r.countLost()
	for s := r.residents.first; s != nil; {
		next := s.links[resident].behind
		if s.place == atReplica { // others are under way, and find out on arrival
			r.detach(s)
			f.retryOrLose(s)
		}
		s = next
	}
	f.carryOutEffects(r)
	r.forget()
	if r.pool.allFailed() {
		r.pool.giveUp()
	}
}

// recover brings r back from the failure that began its generation, unless it has come back since.
// A replica that failed while it drained stays off.
func (f *fleet) recover(r *member, generation uint32) {
	if r.phase != failed || r.generation != generation || r.since == Never {
		return
	}
	r.result.Failed += f.now - r.since
	r.since = f.now
	f.open(r)
}

// open lets r accept requests. The requests that wait for a replica come first.
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
