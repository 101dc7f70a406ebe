package scenarios

import (
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// Phenomenon describes the steps of a phase: the one that computes a mean prompt by itself, or the
// mean of the steps that ran in which sequences decoded.
type Phenomenon struct {
	// Batch is the number of sequences, Tokens the number of their computed tokens, and Context the
	// sum of the contexts to which the sequences attend.
	Batch   int   `json:"batch"`
	Tokens  int   `json:"tokens"`
	Context int64 `json:"context"`
	// Prompts is the mean number of prompt tokens that steps which decode compute beside.
	Prompts float64 `json:"prompt_tokens,omitzero"`
	// Step is the time of a step in milliseconds, through all pipeline stages. Plain is the mean
	// time of the steps that decode without prompts; 0 if none did.
	Step  float64 `json:"step_ms"`
	Plain float64 `json:"without_prompts_ms,omitzero"`
	// Parts is Step in milliseconds by what it is spent on: weights, kv, scores, activations,
	// arithmetic beyond reading, exchange, fixed, host, draft.
	Parts map[string]float64 `json:"parts_ms"`
	// Bound is what takes the largest part of that time ("compute", "memory", "latency", "network",
	// "host", "unfilled tiles" or "drafting"), and Share is this part.
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

// newPhenomenon describes a step by what takes most of its time.
func newPhenomenon(clock *steptime.Clock, step *sim.Step) *Phenomenon {
	l := clock.Whole(step)
	p := &Phenomenon{Tokens: step.Tokens(), Context: step.Context, Step: l.Time().Milliseconds(),
		Parts: map[string]float64{}}
	for part, seconds := range l.Sum().Parts.Seconds() {
		p.Parts[part] = 1000 * seconds
	}
	p.Bound, p.Share = l.Binding()
	return p
}
