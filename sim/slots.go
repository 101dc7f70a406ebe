package sim

// Slots divides KV memory, in tokens, by what it is good for (Kwon et al., SOSP 2023, figure 2).
type Slots struct {
	// Tokens is the number of slots that hold the KV of a token, or receive it in the running step.
	// Reserved are kept for tokens that a running request will still store, Internal for tokens
	// that it never will. External are all others: free, kept in case a prompt comes back, in holes
	// between reservations, or of KV caches that are under way to another replica.
	Tokens, Reserved, Internal, External int64
}

// Add adds those of another memory.
func (s *Slots) Add(o Slots) {
	s.Tokens += o.Tokens
	s.Reserved += o.Reserved
	s.Internal += o.Internal
	s.External += o.External
}

// SlotMemory is a Memory that can tell how its slots are divided.
type SlotMemory interface {
	Memory
	// Slots returns the number of tokens that could be stored, and how many of those set aside
	// serve several sequences, each but the first of which counts.
	Slots() (all, shared int64)
	// Room returns the slots set aside for s, which runs and stores the given number of tokens.
	Room(s *Sequence, stored int) int64
}

// slotsOf returns how the memory of r is divided at the time at, before which nothing else happens.
func (r *replica) slotsOf(m SlotMemory, at Time) Slots {
	all, shared := m.Slots()
	d := Slots{Tokens: -shared, External: all + shared}
	for i := range r.batches {
		b := &r.batches[i]
		begun := b.begun(at)
		for s := b.head; s != nil; s = s.newer {
			stored := s.Context()
			if s.decoding {
				stored += begun
			}
			d.give(m, s, stored)
		}
		if !b.flight.active {
			continue
		}
		for i := range b.step.Prefill {
			d.Tokens += int64(b.step.Prefill[i].New)
			d.Reserved -= int64(b.step.Prefill[i].New)
		}
	}
	for s := r.paused; s != nil; s = s.newer {
		d.give(m, s, s.Stored)
	}
	if d.Tokens < 0 { // what is shared is shared by KV caches under way, too
		d.External, d.Tokens = d.External+d.Tokens, 0
	}
	return d
}

// give sets aside the slots of s, which stores the given number of tokens.
func (d *Slots) give(m SlotMemory, s *Sequence, stored int) {
	room := m.Room(s, stored)
	used := min(room, int64(s.Prompt+s.Output-1)) // the last token's KV is never stored
	d.Tokens += int64(stored)
	d.Reserved += used - int64(stored)
	d.Internal += room - used
	d.External -= room
}

// begun returns how many decode steps of the leap under way have begun by the time at: their tokens
// have their memory.
func (b *Batch) begun(at Time) int {
	f := &b.flight
	switch {
	case !f.active || b.step.Decodes == 0:
		return 0
	case !f.leaping:
		return 1
	}
	return int(min(f.run.completed(at-f.start)+1, f.steps))
}
