package sim

// Step is the summary of one forward pass, all that its cost depends on.
type Step struct {
	// Decodes is the number of sequences that decode, and of sequences that keep their place in a
	// static batch although they are complete: their rows are computed, but attend to nothing.
	Decodes int
	// DecodeTokens is the number of query tokens of those sequences together: Decodes, or more when
	// a speculative step verifies drafted tokens.
	DecodeTokens int
	// Context is the sum over the decoding sequences of the tokens attended to, the new one
	// included.
	Context int64
	// Prefill lists the prompt chunks computed in this step.
	Prefill []Chunk
	// Sequences yields the decoding sequences, for clocks that execute the step. Predicting clocks
	// leave it alone.
	Sequences func(yield func(*Sequence) bool)
}

// Chunk is a run of prompt tokens computed in one step.
type Chunk struct {
	// Sequence is whose prompt it is; nil in steps made up for a what-if.
	Sequence *Sequence
	// New is the number of tokens computed, at least 1.
	New int
	// Cached is the number of tokens of the same sequence whose KV is already stored.
	Cached int
	// Padding is the number of tokens by which a static batch lengthens the chunk; they are
	// computed for nothing.
	Padding int
	// Last is true where the chunk completes the prompt, so that a token is sampled from it.
	Last bool
}

// Rows returns the number of tokens that are computed for the chunk, padding included.
func (c *Chunk) Rows() int { return c.New + c.Padding }

// Tokens returns the number of tokens that go through the linear layers.
func (s *Step) Tokens() int {
	n := s.DecodeTokens
	for i := range s.Prefill {
		n += s.Prefill[i].Rows()
	}
	return n
}

// StepClock says how long a step takes: predicted from hardware and model, or executed and
// measured.
type StepClock interface {
	// Duration returns the time that s takes in one pipeline stage (the slowest), at least a tick.
	// The step is valid during the call only.
	Duration(s *Step) Time
}

// Affine is a duration that is affine in the total context, Base + PerToken·context, for contexts
// in (…, Through].
type Affine struct {
	Base, PerToken Time
	// Through is the largest context for which the form holds.
	Through int64
}

// At returns the duration at the given total context.
func (a Affine) At(context int64) Time { return a.Base + a.PerToken*Time(context) }

// LeapClock is a StepClock whose pure decode steps are piecewise affine in the total context, so
// that they can be leaped.
type LeapClock interface {
	StepClock
	// Decode returns the form that holds for n sequences decoding one token each, at a total
	// context of at least context. Its value there equals Duration of the same step exactly.
	Decode(n int, context int64) Affine
}
