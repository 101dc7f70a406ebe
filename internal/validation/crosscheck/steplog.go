package crosscheck

import (
	"slices"

	policy "github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Step is a step of a run, with what it took.
type Step struct {
	// Decodes, DecodeTokens and Context are as in sim.Step.
	Decodes      int   `json:"decodes"`
	DecodeTokens int   `json:"decode_tokens"`
	Context      int64 `json:"context"`
	// Chunks is the number of prompt chunks, New their tokens with padding, Cached the tokens
	// before them, and Last the number of chunks that complete a prompt.
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
	d := Step{Decodes: s.Decodes, DecodeTokens: s.DecodeTokens, Context: s.Context,
		Chunks: len(s.Prefill)}
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

// stepLog is a sim.StepClock that takes the times of another clock and notes them. It has no
// Decode, so that the simulator asks for every step.
type stepLog struct {
	clock sim.StepClock
	// every, if set, is called between steps, once in this number of them.
	every func()
	steps []Step
	// shapes are the steps without their sequences, from which they can be predicted.
	shapes []sim.Step
	// loads are what was drafted before each step, where anything was.
	loads map[int]*policy.Load
}

// stepsBetween is the number of steps between two calls of every.
const stepsBetween = 8

// Duration implements sim.StepClock.
func (l *stepLog) Duration(s *sim.Step) sim.Time {
	if l.every != nil && len(l.steps)%stepsBetween == 0 {
		l.every()
	}
	d := describe(s)
	d.Took = l.clock.Duration(s)
	l.steps = append(l.steps, d)
	l.shapes = append(l.shapes, sim.Step{Decodes: s.Decodes, DecodeTokens: s.DecodeTokens,
		Context: s.Context, Prefill: anonymous(s.Prefill)})
	return d.Took
}

// anonymous returns the chunks without their sequences.
func anonymous(prefill []sim.Chunk) []sim.Chunk {
	chunks := slices.Clone(prefill)
	for i := range chunks {
		chunks[i].Sequence = nil
	}
	return chunks
}

// noteDrafts adds to the latest step what was drafted before it, and how long that took.
func (l *stepLog) noteDrafts(load *policy.Load, took sim.Time) {
	last := len(l.steps) - 1
	l.steps[last].Took += took
	if l.loads == nil {
		l.loads = map[int]*policy.Load{}
	}
	l.loads[last] = &policy.Load{
		Sequences: slices.Clone(load.Sequences), Expanded: slices.Clone(load.Expanded),
		Behind: load.Behind, Context: load.Context,
		Prefill: anonymous(load.Prefill),
	}
}

// predict notes what a simulation predicts for each step.
func (l *stepLog) predict(s *scenarios.Simulation) {
	clock := s.Steps().Clock
	for i := range l.steps {
		l.steps[i].Predicted = clock.Duration(&l.shapes[i])
		if load := l.loads[i]; load != nil {
			l.steps[i].Predicted += s.Speculators()[0].Cost(load)
		}
	}
}
