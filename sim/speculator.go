package sim

// Speculator drafts tokens that the model then verifies, several in one step (speculative decoding:
// Leviathan, Kalman and Matias, ICML 2023; Chen et al., arXiv:2302.01318). The number of accepted
// tokens differs between sequences, so a replica takes every step by itself unless the Speculator
// is a LeapSpeculator.
type Speculator interface {
	// Plan is told that a step of b is being formed, before Draft is asked for each sequence that
	// decodes.
	Plan(b *Batch)
	// Draft returns the number of tokens drafted for s in this step; 0 means that s decodes without
	// a draft. All drafted tokens are verified and need KV memory. This includes all tokens of a
	// tree, of which at most one path is kept.
	Draft(s *Sequence) int
	// Duration returns the time of a step including drafting, given the time verify that the model
	// takes alone.
	Duration(step *Step, verify Time) Time
	// Accept returns the number of drafted tokens of s that are accepted, in [0, drafted]. It is
	// called in order of admission, once a step, and only if drafted is not 0. One more token
	// always comes from the model itself.
	Accept(s *Sequence, drafted int) int
}

// LeapSpeculator is a Speculator that knows for some steps ahead how many drafted tokens are
// accepted, so that the simulator can leap over them. Leaps also need a LeapMemory and a
// LeapClock.
type LeapSpeculator interface {
	Speculator
	// Foresee returns for how many steps, at most limit, each sequence that decodes has the given
	// number of drafted tokens, and it is known how many are accepted, if the batch stays the same.
	// The first is the step for which Duration was called last; 1 means that only this step is
	// known.
	Foresee(drafted int, limit int64) int64
	// Look takes s, which decodes, into the sums of the steps, and returns Known. It is called
	// once for each sequence after Foresee.
	Look(s *Sequence, steps int64) int64
	// Known returns the number of drafted tokens of s that are accepted in the first steps.
	Known(s *Sequence, steps int64) int64
	// Sum returns the number of tokens that are accepted in step i, counted from 0, over all
	// sequences.
	Sum(i int64) int64
	// Next is Duration for step i, from 1 on. It is called for one step after another.
	Next(i int64, step *Step, verify Time) Time
	// Advance is told how many of the steps have begun when the leap ends.
	Advance(begun int64)
	// Take is Accept for all of the first steps together, which have ended. It is called after
	// Advance.
	Take(s *Sequence, steps int64) int
}

// LeapMemory is a Memory whose room for drafts is known for some steps ahead. Where a sequence that
// was not preempted stores tokens in room that it has, Extend changes nothing.
type LeapMemory interface {
	Memory
	// Ample reports whether that many decoding sequences could each store that many more tokens.
	Ample(sequences, tokens int) bool
	// Room returns the number of tokens for which s, which stores the given number of them, has
	// room.
	Room(s *Sequence, stored int) int64
}
