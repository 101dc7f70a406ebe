package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// Steps predicts the steps of the first pool of a scenario without running it.
type Steps struct {
	// Scenario is the scenario as that pool sees it, with the defaults on which the predictions
	// rest.
	Scenario    Scenario
	Model       *models.Architecture
	Accelerator hardware.Accelerator
	Memory      steptime.MemoryPlan
	Clock       *steptime.Clock
	Warnings    []string

	speculator *speculation.Speculator // nil without drafts
}

// Steps prepares the step times of the scenario. The error is an InputError if the scenario is
// wrong.
func (f *File) Steps(registry *policies.Registry) (*Steps, error) {
	first, err := f.first(registry, (*layout).fit)
	if err != nil {
		return nil, err
	}
	n := first.notes
	first.startDrafting()
	if err := n.err(); err != nil {
		return nil, err
	}
	steps := &Steps{
		Scenario: first.s, Model: first.Model, Accelerator: *first.Accelerator,
		Memory: first.Plan, Clock: first.Clock, Warnings: n.warnings,
	}
	if first.drafter != nil {
		steps.speculator = first.speculator(0, first.drafter,
			&sim.ReplicaConfig{Clock: first.Clock})
	}
	return steps, nil
}

// Server returns the server of the first pool of a scenario without running it. The error is an
// InputError if the scenario is wrong. A model that does not fit is no error here: see Plan.Err.
func (f *File) Server(registry *policies.Registry) (*deployment.Server, error) {
	first, err := f.first(registry, (*layout).plan)
	if err != nil {
		return nil, err
	}
	return &first.Server, nil
}

// first resolves the server of the first pool, and makes its clock.
func (f *File) first(registry *policies.Registry, resolve func(*layout)) (*server, error) {
	n := &notes{file: f}
	l := layOut(n, registry)
	resolve(l)
	l.runSteps((*server).startClock)
	if err := n.err(); err != nil {
		return nil, err
	}
	return l.kinds[0], nil
}

// Room returns how many sequences with a context of that many tokens fit into the KV memory at
// once.
func (s *Steps) Room(context int) int { return s.Memory.Holds(context) }

// Prompt returns what an accelerator of each stage does to compute a prompt by itself, and the time
// that a drafter adds.
func (s *Steps) Prompt(tokens int) steptime.Ledger {
	return s.Step(promptAlone(tokens).Prefill, 0, 0).Ledger
}

// DecodeStep is a step in which all sequences of a batch decode, with drafts where the scenario has
// them.
type DecodeStep struct {
	Step *sim.Step
	// Ledger lists the work of an accelerator of each stage in the step.
	Ledger steptime.Ledger
	// Given is the mean number of tokens that a sequence gets from the step: 1 without drafts.
	Given float64
}

// Decode returns the step of a batch of sequences which each store context tokens before it.
func (s *Steps) Decode(batch, context int) DecodeStep { return s.Step(nil, batch, context) }

// Step returns the step that computes chunks of prompts beside a batch of sequences that decode,
// each of which stores context tokens before it.
func (s *Steps) Step(chunks []sim.Chunk, batch, context int) DecodeStep {
	stored, each := int64(batch)*int64(context), 1
	d := DecodeStep{Given: 1}
	var drafted speculation.MeanStep
	if s.speculator != nil && batch > 0 {
		drafted = s.speculator.MeanStep(batch, stored)
		each, d.Given = 1+drafted.Tokens, drafted.Given
	}
	d.Step = &sim.Step{Prefill: chunks, Decodes: batch, DecodeTokens: batch * each,
		Context: stored + int64(batch*each)}
	d.Ledger = s.Clock.Whole(d.Step)
	if s.speculator != nil && len(chunks) > 0 {
		drafted.Drafting += s.speculator.PromptTime(chunks, d.Ledger.Time())
	}
	d.Ledger = d.Ledger.WithDrafts(drafted.Drafting)
	return d
}

// Phenomenon describes the steps of a phase: the ones that compute a mean prompt by itself, or the
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
	// time of the steps that decode without prompts; 0 if no sequence did.
	Step  float64 `json:"step_ms" jsonschema:"time through all pipeline stages; of steps"`
	Plain float64 `json:"without_prompts_ms,omitzero" jsonschema:"mean time without prompts; of steps"`
	// Parts is Step in milliseconds by what it is spent on: weights, kv, scores, activations,
	// arithmetic beyond reading, exchange, fixed, host, draft.
	Parts map[string]float64 `json:"parts_ms" jsonschema:"the time by what it is spent on; of steps"`
	// Bound names the largest part of that time ("compute", "memory", "latency", "network",
	// "host", "unfilled tiles" or "drafting"), and Share is this part.
	Bound steptime.Bound `json:"bound"`
	Share float64        `json:"share" jsonschema:"share of the time that goes by what binds; of steps"`
}

// prefillPhenomenon describes how a prompt of a length is computed by itself: in one step, or where
// steps have a budget of tokens, in as many as it takes.
func prefillPhenomenon(clock *steptime.Clock, prompt, budget int) *Phenomenon {
	steps := []*sim.Step{promptAlone(prompt)}
	if budget > 0 && prompt > budget {
		steps = nil
		for from := 0; from < prompt; from += budget {
			n := min(budget, prompt-from)
			steps = append(steps, &sim.Step{
				Prefill: []sim.Chunk{{New: n, Cached: from, Last: from+n == prompt}}})
		}
	}
	p := newPhenomenon(clock, steps...)
	p.Batch = 1
	return p
}

// promptAlone is the step that computes a prompt of a length by itself.
func promptAlone(prompt int) *sim.Step {
	return &sim.Step{Prefill: []sim.Chunk{{New: prompt, Last: true}}}
}

// newPhenomenon describes steps by what takes most of their time.
func newPhenomenon(clock *steptime.Clock, steps ...*sim.Step) *Phenomenon {
	var l steptime.Ledger
	p := &Phenomenon{Parts: map[string]float64{}}
	for _, s := range steps {
		l = append(l, clock.Whole(s)...)
		p.Tokens, p.Context = p.Tokens+s.Tokens(), p.Context+s.Context
	}
	p.Step = l.Time().Milliseconds()
	for part, seconds := range l.Sum().Parts.Seconds() {
		p.Parts[part] = 1000 * seconds
	}
	p.Bound, p.Share = l.Binding()
	return p
}
