package sim

// look makes s foreseen from the next step on, or from the one that has begun: it notes when s will
// be complete, and when it takes memory.
func (b *Batch) look(s *Sequence, began bool) {
	a := b.r.foreseeing.Look(s, began)
	s.foreseen, s.joined = true, b.steps
	steps := a.Steps()
	if n := a.Until(int64(s.Output - s.Generated)); n <= steps {
		steps = n
		b.finish.push(b.steps+n, s)
	}
	b.grow(s, &a, steps, 1)
}

// grow adds the units of memory that s takes in that many steps since it was looked at, or
// subtracts them with a sign of −1. What is noted of steps that have begun is read no more.
func (b *Batch) grow(s *Sequence, a *Accepts, steps, sign int64) {
	k, block := b.forecast, b.r.roomy.BlockTokens()
	growth := k.growth[s.joined-k.origin:]
	left := s.room - s.Stored - 1 - k.drafted // after the tokens and drafts of step n
	for n, most := int64(0), uint32(1+k.drafted); ; {
		if left < 0 {
			units := (block - 1 - left) / block
			left += units * block
			growth[n] += sign * int64(units)
		}
		next := int64(uint32(left)/most) + 1 // no fewer can take more memory
		if n+next >= steps {
			return
		}
		left -= int(next + a.between(n, next))
		n += next
	}
}

// settle ends the forecast.
func (b *Batch) settle() {
	for s := b.members.first; s != nil; s = s.newer() {
		if s.foreseen {
			b.settleOne(s)
			s.finishing = false
		}
	}
	clear(b.finish.entries)
	b.finish.entries, b.finish.stale = b.finish.entries[:0], 0
	b.newcomers = b.newcomers[:0]
	b.forecast.on = false
}

// settleOne books the steps of s since it was looked at, so that s is foreseen no longer. It
// returns the number of accepted tokens beyond the end of its answer.
func (b *Batch) settleOne(s *Sequence) (excess int64) {
	r, k, steps := b.r, b.forecast, b.steps-s.joined
	begun := k.begun - s.joined
	if needs := b.tokens(s, begun) + k.drafted; needs > s.room {
		block := r.roomy.BlockTokens()
		s.room = (needs + block - 1) / block * block
		r.roomy.Hold(s, s.room)
	}
	accepted := r.foreseeing.Take(s, steps, begun)
	emitted := min(int(steps)+accepted, s.Output-s.Generated)
	s.Drafted += int(steps) * k.drafted
	s.Accepted += accepted
	s.Generated += emitted
	s.Stored += emitted
	if steps > 0 {
		s.LastToken = b.lastToken
	}
	s.foreseen, s.joined = false, b.steps
	return steps + int64(accepted-emitted)
}

// tokens returns the number of tokens that s, which is foreseen, stores in the last of the steps
// that have begun since it was looked at.
func (b *Batch) tokens(s *Sequence, begun int64) int {
	a := b.r.foreseeing.Accepts(s)
	return s.Stored + int(begun+a.In(begun-1))
}

// occupied returns the number of tokens that s, which is foreseen, stores once that many steps of
// the leap have begun, and the number for which it has room.
func (b *Batch) occupied(s *Sequence, begun int) (stored int, room int64) {
	all := b.steps - s.joined + int64(begun)
	last := b.tokens(s, all)
	if stored = last; begun == 0 {
		stored = s.Context()
	}
	room = b.r.memory.Units(last+b.forecast.drafted) * int64(b.r.roomy.BlockTokens())
	return stored, max(room, int64(s.room))
}

// part takes s, which is foreseen and leaves b before its answer is complete, out of the forecast.
func (b *Batch) part(s *Sequence) {
	a := b.r.foreseeing.Accepts(s)
	b.grow(s, &a, min(a.Steps(), a.Until(int64(s.Output-s.Generated))), -1)
	b.settleOne(s)
}

// storeDrafts takes memory for the foreseen sequences in the steps before the given one, which are
// counted as in progress.
func (b *Batch) storeDrafts(steps int64) {
	k := b.forecast
	if units := k.units(steps); units > 0 {
		b.r.roomy.Take(units)
	}
	k.begun = max(k.begun, steps)
}
