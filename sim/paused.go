package sim

// pausedList lists the waiting sequences that keep their KV cache, see Batch.Pause. What a sequence
// keeps does not change while it is here. So the slots of all of them are a sum, and samples of how
// the memory is divided do not visit them.
type pausedList struct {
	list
	memory SlotMemory // the replica's memory; nil where it cannot tell its slots
	slots  Slots      // the sum of Slots.give over the list; 0 without memory
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

// give sets aside the given number of slots for s, which stores that many tokens.
func (d *Slots) give(s *Sequence, stored int, room int64) {
	used := min(room, int64(s.Prompt+s.Output-1)) // the last token's KV is never stored
	d.Tokens += int64(stored)
	d.Reserved += used - int64(stored)
	d.Internal += room - used
	d.External -= room
}
