package sim

// Memory keeps the KV cache of one replica, in units of its own (blocks, say). Sequences that
// decode grow by one token a step, all of a lane together, so that many steps are accounted for at
// once.
//
// A lane is one of the replica's batches: 0 unless a pipeline has several under way.
type Memory interface {
	// Fits reports whether a sequence of that many tokens could be held if it were alone.
	Fits(tokens int) bool
	// Units returns the units that a sequence of that many tokens takes if it shares nothing with
	// others.
	Units(tokens int) int64
	// Match returns how many leading tokens of s, which waits, are stored already; less than
	// s.Remaining().
	Match(s *Sequence) int
	// Extend stores n more tokens of s, which does not decode, beyond the s.Stored that it has; for
	// a newcomer these are the ones that Match found. It returns false, and changes nothing, where
	// fewer than reserve units would stay free.
	Extend(s *Sequence, n int, reserve int64) bool
	// Release gives back all that s holds: it finished (done), or was preempted.
	Release(s *Sequence, done bool)

	// Join is called when s begins to decode in the lane, Leave when it stops: Release follows, or
	// Extend where s goes on later with what it holds.
	Join(lane int, s *Sequence)
	Leave(lane int, s *Sequence)
	// Headroom returns for how many steps, up to limit, every decoding sequence of the lane can
	// store one more token a step.
	Headroom(lane int, limit int64) int64
	// Growth returns the units that the lane will take in its next steps; steps is at most the
	// headroom.
	Growth(lane int, steps int64) int64
	// Advance takes them.
	Advance(lane int, steps int64)

	// Used and Capacity are in units. Used counts what cannot be given to others.
	Used() int64
	Capacity() int64
}

// TieredMemory is a Memory that keeps KV in slower memory too.
type TieredMemory interface {
	Memory
	// Fetched returns how many tokens the last Extend of a newcomer brought from there to the
	// device, and for how long they keep the link to host memory busy.
	Fetched() (tokens int64, busy Time)
}

// Forgetter is a Memory that keeps tokens for later requests.
type Forgetter interface {
	// Forget drops what no sequence holds.
	Forget()
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
