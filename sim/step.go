package sim

import "math"

// Forever is a number of steps that no run reaches.
const Forever int64 = math.MaxInt64

// Step is the summary of one forward pass. It has all that the cost of the pass depends on.
type Step struct {
	// Decodes is the number of sequences that decode. It includes the complete sequences of a
	// static batch, whose rows are computed but attend to nothing.
	Decodes int
	// DecodeTokens is the number of query tokens of those sequences together: Decodes, or more when
	// a speculative step verifies drafted tokens.
	DecodeTokens int
	// Context is the number of tokens to which the decoding sequences attend, the new token
	// included, summed over the sequences.
	Context int64
	// Prefill lists the prompt chunks computed in this step.
	Prefill []Chunk
	// Sequences yields the decoding sequences, for clocks that execute the step. Clocks that
	// predict its time do not use it.
	Sequences func(yield func(*Sequence) bool)
}

// Chunk is a run of prompt tokens computed in one step.
type Chunk struct {
	// Sequence is the sequence whose prompt is computed. It is nil in steps that are not part of a
	// simulation.
	Sequence *Sequence
	// New is the number of tokens computed, at least 1.
	New int
	// Cached is the number of tokens of the same sequence whose KV is already stored.
	Cached int
	// Encoded is the number of images and sounds that begin in the chunk and whose encoding the
	// replica has already.
	Encoded int
	// Padding is the number of tokens by which a static batch lengthens the chunk. Their
	// computation is wasted.
	Padding int
	// Last is true if the chunk completes the prompt, so that a token is sampled from it.
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

// empty reports whether there is nothing to compute.
func (s *Step) empty() bool { return s.Decodes == 0 && len(s.Prefill) == 0 }

// StepClock says how long a step takes: predicted from hardware and model, or executed and
// measured.
type StepClock interface {
	// Duration returns the time that s takes in the slowest pipeline stage, at least one tick. The
	// step is valid during the call only.
	Duration(s *Step) Time
}

// Affine is a duration that is affine in the total context: Base + PerToken·context, for contexts
// of at most Through tokens.
type Affine struct {
	Base, PerToken Time
	// Through is the largest context for which the form holds.
	Through int64
}

// At returns the duration at the given total context.
func (a Affine) At(context int64) Time { return a.Base + a.PerToken*Time(context) }

// LeapClock is a StepClock for which the duration of steps without prefill is piecewise affine in
// the total context, so that the simulator can leap over them.
type LeapClock interface {
	StepClock
	// Decode returns the form that holds for n sequences decoding one token each, at a total
	// context of at least context. Its value there equals Duration of the same step exactly.
	Decode(n int, context int64) Affine
}
