package sim

// complete sees s, whose last token came out, off; a static batch holds it until all its sequences are complete.
func (b *Batch) complete(s *Sequence) {
	if b.together {
		b.stand(s)
		s.held = true
		b.held++
		return
	}
	b.retire(s)
}

// retire gives the place and the memory of s, which is complete, back.
func (b *Batch) retire(s *Sequence) {
	b.leave(s, true)
	b.r.memory.Release(s, true)
	b.r.result.Completed++
	b.r.fleet.finish(s)
}

// deliver returns the answers that are held back. Their users see the first token and the last at the same time.
func (b *Batch) deliver(at Time) {
	for s := b.head; s != nil; {
		next := s.newer
		if s.held {
			b.held--
			s.held = false
			s.FirstToken, s.LastToken = at, at
			b.r.fleet.tell(s, at)
			b.retire(s)
		}
		s = next
	}
}
