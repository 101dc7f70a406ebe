package crosscheck

import "github.com/llmsim/llmsim/sim"

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

// stepLog is a sim.StepClock that takes the times of one clock and notes them beside those of another. It has no Decode, so that
// the simulator asks for every step.
type stepLog struct {
	clock, predicted sim.StepClock
	steps            []Step
}

// Duration implements sim.StepClock.
func (l *stepLog) Duration(s *sim.Step) sim.Time {
	d := describe(s)
	d.Predicted = l.predicted.Duration(s)
	d.Took = l.clock.Duration(s)
	l.steps = append(l.steps, d)
	return d.Took
}
