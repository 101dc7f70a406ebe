package sim

// assign counts s as a request of r.
func (f *fleet) assign(r *member, s *Sequence) {
	s.Replica, s.assigned = r.index, true
	r.outstanding++
	r.pool.outstanding++
	r.prompts += int64(s.Prompt)
	if s.Generated == 0 {
		r.uncomputed += int64(s.Prompt)
		if r.pool.predicting {
			r.computed = max(r.computed, f.now) + Time(s.Prompt)*r.timePerPromptToken()
		}
	}
	if f.fallible {
		r.residents.insert(s, nil)
	}
	r.pool.changed(r)
}

// unassign stops counting s as a request of its replica.
func (f *fleet) unassign(s *Sequence) {
	if !s.assigned {
		return
	}
	s.assigned = false
	r := &f.replicas[s.Replica]
	r.outstanding--
	r.pool.outstanding--
	r.prompts -= int64(s.Prompt)
	if s.Generated == 0 {
		r.uncomputed -= int64(s.Prompt)
		if r.pool.predicting {
			r.computed -= Time(s.Prompt) * r.timePerPromptToken()
		}
	}
	if f.fallible {
		r.residents.remove(s)
	}
	r.pool.changed(r)
	if r.phase == draining {
		f.restIfDrained(r)
	}
}

// promptDone notes that the prompt of s is computed.
func (f *fleet) promptDone(r *member, s *Sequence) {
	r.uncomputed -= int64(s.Prompt)
	if r.pool.predicting {
		r.predict(f.now)
	}
	r.pool.changed(r)
	f.begun(s)
}

// begun schedules when the user of s leaves, if that counts from the first token and it is known
// when the user has it.
func (f *fleet) begun(s *Sequence) {
	if s.AfterFirst && s.Patience > 0 && s.FirstToken > 0 && !s.relayed {
		f.schedule(later(s.FirstToken+s.Latency, s.Patience),
			event{kind: cancelling, s: s, n: s.Retries})
	}
}

// restIfDrained turns r off if it has nothing left to do.
func (f *fleet) restIfDrained(r *member) {
	if r.phase == draining && r.outstanding == 0 && r.leases == 0 {
		f.rest(r)
	}
}

func (f *fleet) rest(r *member) {
	r.phase = off
	r.generation++
	r.result.Up += f.now - r.since
	r.forget()
}

// count notes that s waits or runs from now on, at a replica with the given load, or at no replica
// if it is nil; or that s has ended.
func (f *fleet) count(s *Sequence, to stage, at *load) {
	from, l := s.stage, &f.loads
	if from != to {
		l.all.move(f.now, from, to)
		if uint(s.Class) < uint(len(l.classes)) {
			l.classes[s.Class].move(f.now, from, to)
		}
		if i := min(s.Tenant, len(l.tenants)-1); i >= 0 {
			l.tenants[i].move(f.now, from, to)
		}
		s.stage = to
	}
	switch before := s.at; {
	case before == at && at != nil:
		at.move(f.now, from, to)
	default:
		if before != nil {
			before.move(f.now, from, outside)
		}
		if at != nil {
			at.move(f.now, outside, to)
		}
		s.at = at
	}
}
