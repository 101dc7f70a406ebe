package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/speculation"
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
	n := &notes{file: f}
	l := layOut(n, registry)
	l.fit()
	l.take((*server).startClock)
	if err := n.err(); err != nil {
		return nil, err
	}
	first := l.kinds[0]
	steps := &Steps{
		Scenario: first.s, Model: first.Model, Accelerator: *first.Accelerator,
		Memory: first.Plan, Clock: first.Clock, Warnings: n.warnings,
	}
	if first.s.drafts() {
		if first.startDrafting(); first.drafter != nil {
			steps.speculator = first.speculator(0, first.drafter,
				&sim.ReplicaConfig{Clock: first.Clock})
		}
		if err := n.err(); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// Room returns how many sequences with a context of that many tokens fit into the KV memory at
// once.
func (s *Steps) Room(context int) int {
	block := max(1, s.Memory.BlockTokens)
	return s.Memory.Tokens / (max(1, (context+block-1)/block) * block)
}

// Prompt returns what an accelerator of each stage does to compute a prompt by itself, and the time
// that a drafter adds.
func (s *Steps) Prompt(tokens int) steptime.Ledger {
	step := promptAlone(tokens)
	ledger := s.Clock.Whole(step)
	if s.speculator == nil {
		return ledger
	}
	return ledger.WithDrafts(s.speculator.PromptTime(step.Prefill, ledger.Time()))
}

// DecodeStep is a step in which all sequences of a batch decode, with drafts where the scenario has
// them.
type DecodeStep struct {
	Step *sim.Step
	// Ledger is what an accelerator of each stage does in the step.
	Ledger steptime.Ledger
	// Given is the mean number of tokens that a sequence gets from the step: 1 without drafts.
	Given float64
}

// Decode returns the step of a batch of sequences which each store context tokens before it.
func (s *Steps) Decode(batch, context int) DecodeStep {
	stored, each := int64(batch)*int64(context), 1
	d := DecodeStep{Given: 1}
	var drafted speculation.MeanStep
	if s.speculator != nil && batch > 0 {
		drafted = s.speculator.MeanStep(batch, stored)
		each, d.Given = 1+drafted.Tokens, drafted.Given
	}
	d.Step = &sim.Step{Decodes: batch, DecodeTokens: batch * each,
		Context: stored + int64(batch*each)}
	d.Ledger = s.Clock.Whole(d.Step).WithDrafts(drafted.Drafting)
	return d
}
