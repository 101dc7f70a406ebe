package sim

// residents is the list of the requests that a replica was given, in that order.
type residents struct{ first, last *Sequence }

type residency struct{ previous, next *Sequence }

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
		r.residents.add(s)
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
}

// predict estimates when the prompts given to r will be computed, from the number of tokens that
// are not computed yet.
func (r *member) predict(now Time) {
	r.computed = now + Time(r.uncomputed)*r.timePerPromptToken()
}

// probe is the length of the prompt by which the speed of replicas is measured, in tokens: about
// where GPUs reach their full prefill throughput (Splitwise, ISCA 2024, figure 6).
const probe = 2048

// timePerPromptToken returns how long r takes for a prompt, by token.
func (r *member) timePerPromptToken() Time {
	if r.promptToken == 0 {
		step := Step{Prefill: []Chunk{{New: probe, Last: true}}}
		r.promptToken = max(r.clock.Duration(&step)*Time(len(r.batches))/probe, 1)
	}
	return r.promptToken
}

func (l *residents) add(s *Sequence) {
	s.resident = residency{previous: l.last}
	if l.last == nil {
		l.first = s
	} else {
		l.last.resident.next = s
	}
	l.last = s
}

func (l *residents) remove(s *Sequence) {
	at := s.resident
	if at.previous == nil {
		l.first = at.next
	} else {
		at.previous.resident.next = at.next
	}
	if at.next == nil {
		l.last = at.previous
	} else {
		at.next.resident.previous = at.previous
	}
	s.resident = residency{}
}
