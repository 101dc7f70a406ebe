package sim

// complete retires s after its last token. A static batch first waits until all its sequences are
// complete.
func (b *Batch) complete(s *Sequence) {
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
	b.r.memory.Release(s, true)
	b.r.result.Completed++
	b.effect(finished, s)
}

// deliver returns the answers that are held back. Their users see the first token and the last at
// the same time.
func (b *Batch) deliver(at Time) {
	for s := b.head; s != nil; {
		next := s.newer
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

// emit reports that tokens of s came out at the given time, where somebody asks for them.
func (b *Batch) emit(s *Sequence, at Time) {
	if b.r.streamed {
		b.r.effects = append(b.r.effects, effect{kind: emitted, s: s, b: b, at: at})
	}
}

// pass takes s, whose prompt is complete, out of b, to go on elsewhere with its KV cache. The
// memory that it has here stays taken.
func (b *Batch) pass(s *Sequence) {
	b.leave(s, true)
	s.Swapped, s.Stored = s.Stored, 0
	s.preempted, s.Preemptions = s.Preemptions, 0 // to the next scheduler it is a newcomer
	b.r.result.HandedOver++
	b.effect(passed, s)
}
