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
	b.retire(s)
}

// retire removes s, which is complete, from b and releases its memory.
func (b *Batch) retire(s *Sequence) {
	b.leave(s, true)
	if s.FirstToken > s.LastToken { // an answer may be shorter than a first chunk
		s.FirstToken = s.LastToken
		b.emit(s, s.LastToken)
	}
	b.r.memory.Release(s, true)
	b.r.vacate(s.Slot, s.row)
	b.r.result.Completed++
	b.effect(finished, s)
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
			b.emit(s, at)
			b.retire(s)
		}
		s = next
	}
}

// emit reports that tokens of s came out at the given time, if Config.Tokens is set.
func (b *Batch) emit(s *Sequence, at Time) {
	if b.r.streamed {
		b.r.effects = append(b.r.effects, effect{kind: emitted, s: s, time: at})
	}
}

// pass takes s, whose prompt is complete, out of b. s moves to another replica with its KV cache,
// and its memory here stays taken until then.
func (b *Batch) pass(s *Sequence) {
	b.leave(s, true)
	s.Swapped, s.Stored, s.imported = s.Stored, 0, true
	s.preempted, s.Preemptions = int32(s.Preemptions), 0 // to the next scheduler it is a newcomer
	b.r.result.HandedOver++
	step := b.flight.end - b.flight.start
	b.r.effects = append(b.r.effects, effect{kind: passed, s: s, time: step})
}

// expel takes s out of b before its answer is complete, and drops its KV cache.
func (b *Batch) expel(s *Sequence) {
	if s.held {
		s.held = false
		b.held--
	}
	b.leave(s, true)
	b.r.memory.Release(s, false)
	b.r.vacate(s.Slot, s.row)
	if b.together && s.FirstToken > 0 { // what came out elsewhere is all that the user had
		s.Generated, s.LastToken = 1, s.FirstToken
	}
}

// expelLeaving removes the sequences that were to leave when the step ended, except sequences that
// finished with it.
func (b *Batch) expelLeaving() {
	for i, s := range b.leaving {
		b.leaving[i] = nil
		if s.batch == &b.progress {
			b.expel(s)
			b.effect(expelled, s)
		}
	}
	b.leaving = b.leaving[:0]
}
