package crosscheck

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Step is a step of a run, with what it took.
type Step struct {
	// Decodes, DecodeTokens and Context are as in sim.Step.
	Decodes      int   `json:"decodes"`
	DecodeTokens int   `json:"decode_tokens"`
	Context      int64 `json:"context"`
	// Chunks is the number of prompt chunks, New their tokens with padding, Cached the tokens before them, and Last the number of
	// those that complete a prompt.
	Chunks int `json:"chunks"`
	New    int `json:"new"`
	Cached int `json:"cached"`
	Last   int `json:"last"`
	// Took is what the step took, Predicted what was predicted for this very step.
	Took      sim.Time `json:"took_ps"`
	Predicted sim.Time `json:"predicted_ps"`
}

// describe returns the step without its times.
func describe(s *sim.Step) Step {
	d := Step{Decodes: s.Decodes, DecodeTokens: s.DecodeTokens, Context: s.Context, Chunks: len(s.Prefill)}
	for i := range s.Prefill {
		p := &s.Prefill[i]
		d.New += p.Rows()
		d.Cached += p.Cached
		if p.Last {
			d.Last++
		}
	}
	return d
}

// stepLog is a sim.StepClock that takes the times of another clock and notes them. It has no Decode, so that the simulator asks for
// every step.
type stepLog struct {
	clock sim.StepClock
	// every, if set, is called between steps, once in so many.
	every func()
	steps []Step
	// shapes are the steps without their sequences, from which they can be predicted.
	shapes []sim.Step
}

// stepsBetween is the number of steps between two calls of every.
const stepsBetween = 20

// Duration implements sim.StepClock.
func (l *stepLog) Duration(s *sim.Step) sim.Time {
	if l.every != nil && len(l.steps)%stepsBetween == 0 {
		l.every()
	}
	d := describe(s)
	d.Took = l.clock.Duration(s)
	l.steps = append(l.steps, d)
	shape := sim.Step{Decodes: s.Decodes, DecodeTokens: s.DecodeTokens, Context: s.Context, Prefill: slices.Clone(s.Prefill)}
	for i := range shape.Prefill {
		shape.Prefill[i].Sequence = nil
	}
	l.shapes = append(l.shapes, shape)
	return d.Took
}

// predict notes what a clock predicts for each step.
func (l *stepLog) predict(clock sim.StepClock) {
	for i := range l.steps {
		l.steps[i].Predicted = clock.Duration(&l.shapes[i])
	}
}
