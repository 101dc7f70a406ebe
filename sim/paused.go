package sim

// pausedList lists the waiting sequences that keep their KV cache, see Batch.Pause. What a sequence
// keeps does not change while it is here. So the slots of all of them are a sum, and samples of how
// the memory is divided do not visit them.
type pausedList struct {
	list
	memory SlotMemory // nil where it cannot tell
	slots  Slots      // of all sequences in the list
}

func (p *pausedList) add(s *Sequence) {
	p.insert(s, nil)
	if p.memory != nil {
		s.room = int(p.memory.Room(s, s.Stored))
		p.slots.give(s, s.Stored, int64(s.room))
	}
}

func (p *pausedList) take(s *Sequence) {
	p.remove(s)
	if p.memory != nil {
		var kept Slots
		kept.give(s, s.Stored, int64(s.room))
		p.slots.Add(Slots{-kept.Tokens, -kept.Reserved, -kept.Internal, -kept.External})
	}
}
