package sim

// complete retires s after its last token. A static batch first waits until all its sequences are
// complete.
func (b *Batch) complete(s *Sequence) {
	s.finishing = false
	if b.together {
		b.stopProgress(s)
		s.held = true
		b.held++
		return
	}
	b.r.retire(b, s)
}

// retire removes s, which is complete, from b and releases its memory.
func (r *replica) retire(b *Batch, s *Sequence) {
	b.leave(s, true)
	if s.FirstToken > s.LastToken { // an answer may be shorter than a first chunk
		s.FirstToken = s.LastToken
		r.emit(s, s.LastToken)
	}
	r.memory.Release(s, true)
	r.slots.vacate(s.Slot, s.row)
	r.result.Completed++
	r.effects.add(finished, s)
}

// deliver returns the answers that are held back. Their users see the first token and the last at
// the same time.
func (b *Batch) deliver(at Time) {
	for s := b.members.first; s != nil; {
		next := s.newer()
		if s.held {
			b.held--
			s.held = false
			s.FirstToken, s.LastToken = at, at
			b.r.emit(s, at)
			b.r.retire(b, s)
		}
		s = next
	}
}

// emit reports that tokens of s came out at the given time, if Config.Tokens is set.
func (r *replica) emit(s *Sequence, at Time) {
	if r.streamed {
		r.effects.addTimed(emitted, s, at)
	}
}

// pass takes s, whose prompt is complete, out of b. s moves to another replica with its KV cache,
// and its memory here stays taken until then.
func (r *replica) pass(b *Batch, s *Sequence) {
	b.leave(s, true)
	s.Swapped, s.Stored, s.imported = s.Stored, 0, true
	s.preempted, s.Preemptions = int32(s.Preemptions), 0 // to the next scheduler it is a newcomer
	r.result.HandedOver++
	step := b.flight.end - b.flight.start
	r.effects.addTimed(passed, s, step)
}

// expel takes s out of b before its answer is complete, and drops its KV cache.
func (r *replica) expel(b *Batch, s *Sequence) {
	if s.held {
		s.held = false
		b.held--
	}
	lost := 0 // tokens for which there was memory, and which did not come out
	if s.decoding {
		lost = int(b.flight.lost)
	}
	b.leave(s, true)
	s.Generated -= lost
	r.memory.Release(s, false)
	r.slots.vacate(s.Slot, s.row)
	if b.together && s.FirstToken > 0 { // what came out elsewhere is all that the user had
		s.Generated, s.LastToken = 1, s.FirstToken
	}
}

// expelLeaving removes the sequences that were to leave when the step ended, except sequences that
// finished with it.
func (r *replica) expelLeaving(b *Batch) {
	for i, s := range b.leaving {
		b.leaving[i] = nil
		if s.batch == &b.progress {
			r.expel(b, s)
			r.effects.add(expelled, s)
		}
	}
	b.leaving = b.leaving[:0]
}
