package sim

// Speculator drafts tokens that the model then verifies, several in one step (speculative decoding:
// Leviathan, Kalman and Matias, ICML 2023; Chen et al., arXiv:2302.01318). How many are accepted
// differs from sequence to sequence, so that such a replica takes every step by itself.
type Speculator interface {
	// Plan is told that a step of b is being formed, before Draft is asked for each sequence that
	// decodes.
	Plan(b *Batch)
	// Draft returns how many tokens are drafted for s in this step; 0 means that it decodes
	// plainly. All of them are verified and need KV memory, also those of a tree of which one path
	// is kept at most.
	Draft(s *Sequence) int
	// Duration returns the time of a step, drafting included, when the model alone takes verify for
	// it.
	Duration(step *Step, verify Time) Time
	// Accept returns how many of the drafted tokens of s are accepted, in [0, drafted]. It is asked
	// in order of admission, once a step, and only where drafted is not 0. One more token always
	// comes from the model itself.
	Accept(s *Sequence, drafted int) int
}
