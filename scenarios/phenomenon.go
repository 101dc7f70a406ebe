package scenarios

import (
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// Phenomenon describes a typical step of a phase.
type Phenomenon struct {
	// Batch is the number of sequences, Tokens the number of computed tokens, and Context the sum
	// of the contexts to which the sequences attend.
	Batch   int   `json:"batch"`
	Tokens  int   `json:"tokens"`
	Context int64 `json:"context"`
	// Step is the time of the step in milliseconds.
	Step float64 `json:"step_ms"`
	// Bound is what takes the largest part of that time ("compute", "memory", "latency", "network",
	// "host" or "unfilled tiles"), and Share is this part.
	Bound steptime.Bound `json:"bound"`
	Share float64        `json:"share"`
}

// prefillPhenomenon is the step that computes a prompt of a length by itself.
func prefillPhenomenon(clock *steptime.Clock, prompt int) *Phenomenon {
	p := newPhenomenon(clock, promptAlone(prompt))
	p.Batch = 1
	return p
}

// promptAlone is the step that computes a prompt of a length by itself.
func promptAlone(prompt int) *sim.Step {
	return &sim.Step{Prefill: []sim.Chunk{{New: prompt, Last: true}}}
}

// decodePhenomenon is the mean step of those in which sequences decoded; nil where none did.
func decodePhenomenon(clock *steptime.Clock, m *workMeter) *Phenomenon {
	step := m.meanDecode()
	if step == nil {
		return nil
	}
	p := newPhenomenon(clock, step)
	p.Batch = step.Decodes
	return p
}

// newPhenomenon describes a step by what takes most of its time.
func newPhenomenon(clock *steptime.Clock, step *sim.Step) *Phenomenon {
	l := clock.Whole(step)
	p := &Phenomenon{Tokens: step.Tokens(), Context: step.Context, Step: l.Time().Milliseconds()}
	p.Bound, p.Share = l.Binding()
	return p
}
