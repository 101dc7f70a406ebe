package sim

// assign counts s as a request of r.
func (r *member) assign(s *Sequence) {
	f := r.pool.fleet
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

// unassign stops counting s, whose replica is r, as a request of r.
func (r *member) unassign(s *Sequence) {
	if !s.assigned {
		return
	}
	f := r.pool.fleet
	s.assigned = false
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
		r.switchOffIfDrained()
	}
}

// promptDone notes that the prompt of s is computed.
func (r *member) promptDone(s *Sequence) {
	r.uncomputed -= int64(s.Prompt)
	if r.pool.predicting {
		r.predict(r.pool.fleet.now)
	}
	r.pool.changed(r)
}

// scheduleLeaving schedules when the user of s leaves, if that counts from the first token, which
// comes out at the given time.
func (f *fleet) scheduleLeaving(s *Sequence, first Time) {
	if s.AfterFirst && s.Patience > 0 {
		f.schedule(later(first+s.Latency, s.Patience),
			event{kind: cancelling, s: s, n: s.Retries})
	}
}

// switchOffIfDrained turns r off if it has nothing left to do.
func (r *member) switchOffIfDrained() {
	if r.phase == draining && r.outstanding == 0 && r.leases == 0 {
		r.switchOff()
	}
}

// switchOff turns r off.
func (r *member) switchOff() {
	r.phase = off
	r.generation++
	r.result.Up += r.pool.fleet.now - r.since
	r.forget()
}

// count notes that s waits or runs from now on, at a replica with the given load, or at no replica
// if it is nil; or that s has ended.
func (l *loads) count(now Time, s *Sequence, to stage, at *load) {
	from := s.stage
	if from != to {
		l.all.move(now, from, to)
		if uint(s.Class) < uint(len(l.classes)) {
			l.classes[s.Class].move(now, from, to)
		}
		if i := min(s.Tenant, len(l.tenants)-1); i >= 0 {
			l.tenants[i].move(now, from, to)
		}
		s.stage = to
	}
	switch before := s.at; {
	case before == at && at != nil:
		at.move(now, from, to)
	default:
		if before != nil {
			before.move(now, from, outside)
		}
		if at != nil {
			at.move(now, outside, to)
		}
		s.at = at
	}
}
