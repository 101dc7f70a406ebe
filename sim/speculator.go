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
	// tree, where at most one path is kept.
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
// accepted, so that the simulator can leap over them, and need not ask for each sequence in each
// step. Leaps also need a LeapMemory and a LeapClock.
type LeapSpeculator interface {
	Speculator
	// Begin reports whether each sequence that decodes will have the given number of drafted
	// tokens, as in the step for which Duration was called last, and it is known for some steps
	// how many are accepted. No sequence has been looked at then.
	Begin(drafted int) bool
	// Look returns what is known of s, which decodes, from the next step on, or from the one for
	// which Duration was called last if that step has begun. The sums have s from then on.
	Look(s *Sequence, began bool) Accepts
	// Accepts returns what Look returned for s.
	Accepts(s *Sequence) Accepts
	// Repeat takes the place of Draft in the next step for the sequences that were looked at, whose
	// number and whose stored tokens it gets. It returns false where they have to be asked about
	// one by one.
	Repeat(sequences int, context int64) bool
	// Foresee returns of how many steps, at most limit, the sums are known. The first is the step
	// for which Duration was called last.
	Foresee(limit int64) int64
	// Sum returns the number of tokens that are accepted in step i of them, counted from 0, over
	// all sequences that were looked at.
	Sum(i int64) int64
	// Next is Duration for step i, from 1 on. It is called for one step after another.
	Next(i int64, step *Step, verify Time) Time
	// Advance is told how many of these steps have begun when the leap ends.
	Advance(begun int64)
	// Take is Accept for all of the steps together that have ended since s was looked at, and takes
	// s out of the sums. At most one step more has begun.
	Take(s *Sequence, steps, begun int64) int
}

// LeapMemory is a Memory that can give room to decoding sequences without a call for each of them.
type LeapMemory interface {
	Memory
	// BlockTokens returns the number of tokens of a unit.
	BlockTokens() int
	// Room returns the number of tokens for which s, which stores the given number of them, has
	// room.
	Room(s *Sequence, stored int) int64
	// Take takes units, which are free, for sequences that decode and were never preempted.
	Take(units int64)
	// Hold gives s room for that many tokens, from the units that Take took.
	Hold(s *Sequence, tokens int)
}

// hasRoom reports whether s, which decodes, has memory for n more tokens.
func (s *Sequence) hasRoom(n int) bool { return s.Stored+n <= s.room }

// extend takes memory of m for n more tokens of s, which decodes and does not have it, and reports
// whether m has room for them. roomy is m if that can tell the room of a sequence, or nil.
func extend(m Memory, roomy LeapMemory, s *Sequence, n int) bool {
	if !m.Extend(s, n, 0) {
		return false
	}
	if roomy != nil && s.Preemptions == 0 {
		s.room = int(roomy.Room(s, s.Stored+n))
	}
	return true
}
