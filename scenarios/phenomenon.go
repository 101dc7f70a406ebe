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
	Batch   int   `json:"batch" jsonschema:"sequences; of steps"`
	Tokens  int   `json:"tokens" jsonschema:"tokens that are computed; of steps"`
	Context int64 `json:"context" jsonschema:"sum of the contexts of the sequences; of steps"`
	// Prompts is the mean number of prompt tokens that steps which decode compute beside.
	Prompts float64 `json:"prompt_tokens,omitzero" jsonschema:"mean number of prompt tokens beside decoding; of steps"`
	// Step is the time of a step in milliseconds, through all pipeline stages. Plain is the mean
	// time of the steps that decode without prompts; 0 if none did.
	Step  float64 `json:"step_ms" jsonschema:"time through all pipeline stages; of steps"`
	Plain float64 `json:"without_prompts_ms,omitzero" jsonschema:"mean time without prompts; of steps"`
	// Parts is Step in milliseconds by what it is spent on: weights, kv, scores, activations,
	// arithmetic beyond reading, exchange, fixed, host, draft.
	Parts map[string]float64 `json:"parts_ms" jsonschema:"the time by what it is spent on; of steps"`
	// Bound is what takes the largest part of that time ("compute", "memory", "latency", "network",
	// "host", "unfilled tiles" or "drafting"), and Share is this part.
	Bound steptime.Bound `json:"bound"`
	Share float64        `json:"share" jsonschema:"share of the time that goes by what binds; of steps"`
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
