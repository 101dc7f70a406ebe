package sim

// Speculator drafts tokens that the model then verifies, several in one step (speculative decoding:
// Leviathan, Kalman and Matias, ICML 2023; Chen et al., arXiv:2302.01318). The number of accepted
// tokens differs between sequences, so a replica with a Speculator takes every step by itself.
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
