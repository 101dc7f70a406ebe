package sim

// Memory keeps the KV cache of one replica. It counts in units of its own, such as KV blocks. All
// decoding sequences of a lane grow together, by one token a step, so that one call accounts for
// many steps.
//
// A lane is the number of one of the replica's batches. It is 0 unless a pipeline has several
// batches.
type Memory interface {
	// Fits reports whether the memory could hold a sequence of that many tokens if no other were
	// there.
	Fits(tokens int) bool
	// Units returns the number of units that a sequence of that many tokens takes if it shares no
	// unit with others.
	Units(tokens int) int64
	// Match returns how many leading tokens of s, which waits, are stored already. The result is
	// less than s.Remaining().
	Match(s *Sequence) int
	// Extend stores n more tokens of s, which does not decode, after the s.Stored tokens that s
	// has. A newcomer has the tokens that Match found. Extend returns false, and changes nothing,
	// if fewer than reserve units would stay free.
	Extend(s *Sequence, n int, reserve int64) bool
	// Release gives back all that s holds. It is called when s has finished (done), or was
	// preempted.
	Release(s *Sequence, done bool)

	// Join is called when s begins to decode in the lane, and Leave when it stops. After Leave
	// comes Release, or Extend if s continues later with what it holds.
	Join(lane int, s *Sequence)
	Leave(lane int, s *Sequence)
	// Headroom returns the number of steps, at most limit, for which memory has room for one more
	// token of every decoding sequence of the lane in each step.
	Headroom(lane int, limit int64) int64
	// Growth returns the number of units that the lane will take in its next steps; steps is at
	// most the headroom.
	Growth(lane int, steps int64) int64
	// Advance takes these units.
	Advance(lane int, steps int64)

	// Used and Capacity are numbers of units. Used counts the units that cannot be given to another
	// sequence.
	Used() int64
	Capacity() int64
}

// SummingMemory is a Memory that sums up what the next steps of a lane take. Other memories are
// asked for the Growth of each step.
type SummingMemory interface {
	Memory
	// AdvanceSums is Advance. It returns the sums over the steps, numbered x = 0, 1, …, of the
	// units that step x takes, of units·x, and of units·x(x−1)/2. There are at most 2^15 steps.
	AdvanceSums(lane int, steps int64) (units, linear, pairs int64)
}

// TieredMemory is a Memory that also keeps KV in slower memory, such as host memory or a disk.
type TieredMemory interface {
	Memory
	// Fetched returns how many tokens the last Extend, of a sequence that enters a batch, brought
	// from the slower memory to the accelerator, and for how long their transfer, with whatever
	// else the sequence needs, keeps the link to host memory busy.
	Fetched() (tokens int64, busy Time)
}

// PrefetchedMemory is a replica's view of a slow store of KV caches, such as a disk. What the
// store has of a prompt comes to the replica's memory before the request is enqueued.
type PrefetchedMemory interface {
	// Wanted returns the size in bytes of what the store has of the prompt of s and the replica's
	// memory has not; 0 if nothing is worth bringing.
	Wanted(s *Sequence) int64
	// Bring moves what the store still has of the prompt of s to the replica's memory, as far as
	// there is room for it.
	Bring(s *Sequence)
}

// PartMemory is a PrefetchedMemory that can use a part of a read, see Disk.Patience.
type PartMemory interface {
	PrefetchedMemory
	// BringPart is Bring where only the given number of bytes has come.
	BringPart(s *Sequence, bytes int64)
}

// PooledMemory is a PrefetchedMemory of a pool that several replicas share. What a request has
// stored is offered to the pool at its end.
type PooledMemory interface {
	PrefetchedMemory
	// Offer returns the size in bytes of what s, which has ended, leaves and the pool does not
	// have, and a function that stores it there.
	Offer(s *Sequence) (bytes int64, keep func())
}

// AdapterMemory is a Memory with slots for adapters.
type AdapterMemory interface {
	// Blocked reports whether Extend would fail for s, which waits, because all slots have adapters
	// that other sequences use.
	Blocked(s *Sequence) bool
}

// ClockedMemory is a Memory that keeps tokens for a time.
type ClockedMemory interface {
	// Clock gives the memory the time of its replica, once, before anything else happens.
	Clock(now func() Time)
}

// Forgetter is a Memory that keeps tokens for later requests, and can drop them.
type Forgetter interface {
	// Forget drops all tokens that no sequence holds.
	Forget()
}

// SlotMemory is a Memory that can report how its slots are divided.
type SlotMemory interface {
	Memory
	// Slots returns the number of tokens that could be stored, and the number of slots that sharing
	// saves: a slot that serves n sequences counts n−1 times.
	Slots() (all, shared int64)
	// Room returns the number of slots that are set aside for s, which runs and stores the given
	// number of tokens.
	Room(s *Sequence, stored int) int64
}

// Slots divides KV memory by its use, in tokens (Kwon et al., SOSP 2023, figure 2).
type Slots struct {
	// Tokens is the number of slots that hold the KV of a token, or receive it in the running step.
	// Reserved slots are kept for tokens that a running request will still store, and Internal
	// slots for tokens that it will never store. External slots are all others: free ones, ones
	// that keep a prompt for later requests, holes between reservations, and KV caches on their way
	// to another replica.
	Tokens, Reserved, Internal, External int64
}

// Add adds the slots of another memory.
func (s *Slots) Add(o Slots) {
	s.Tokens += o.Tokens
	s.Reserved += o.Reserved
	s.Internal += o.Internal
	s.External += o.External
}
