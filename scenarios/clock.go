package scenarios

import (
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// startClock makes the clock that predicts the steps of a server.
func (s *server) startClock() {
	_, ownModel := modelFile(s.file.files(), s.locate("model", s.s.Model))
	clock, err := s.file.Clocks.clock(&s.s, ownModel, s.NewClock)
	if err != nil {
		s.problem("parallelism", "%v", err)
		return
	}
	s.addWarnings(clock.Warnings())
	s.Clock = clock
}

// lookupToken is the host's time to look at a token of the text in an n-gram look-up:
// internal/engine/generate/drafter.go on one core of the machine on which it was written (AMD
// EPYC, 2026), texts of 2,000 tokens, n-grams of 4 down to 2.
const lookupToken = 3 * sim.Nanosecond

// startDrafting makes the clocks that predict the time of drafting. It sets drafter, and limits
// Plan to what a draft model's own accelerators hold.
func (s *server) startDrafting() {
	if s.s.drafts() {
		s.drafter = s.startDrafter()
		if s.draftsElsewhere() {
			s.Plan = s.limitToDraftModel(s.Plan)
		}
	}
}

// draftsElsewhere reports whether a draft model has accelerators of its own.
func (s *server) draftsElsewhere() bool { return s.s.drafts() && s.s.Speculation.Accelerator != "" }

// startDrafter makes the drafter; nil where it cannot, with the problem noted.
func (c *server) startDrafter() speculation.Drafter {
	model, sp := c.Config.Model, c.s.Speculation
	switch sp.Method {
	case "n-gram":
		return speculation.Lookup{Token: lookupToken}
	case "medusa":
		with := c.draftClock(speculation.OutputHead(model, 0))
		without := c.draftClock(speculation.OutputHead(model, c.Config.Parallel.Tensor))
		if with != nil && without != nil {
			return speculation.NewHeads(with, without)
		}
	default:
		if clock := c.draftClock(c.drafting.model); clock != nil {
			return speculation.NewModel(clock, sp.Method == "layer-skip")
		}
	}
	return nil
}

// draftClock predicts the passes of a drafter. They follow each other without the host's scheduling
// in between.
func (c *server) draftClock(a *models.Architecture) *steptime.Clock {
	sp, tensor := c.s.Speculation, c.Config.Parallel.Tensor
	d := c.Config
	d.Model, d.Weights, d.Parallel = a, c.drafting.weights(&c.Config),
		steptime.Parallelism{Tensor: tensor}
	if sp.Method == "mtp" { // the module is a layer of the model, and spread as it is
		d.Parallel = c.Config.Parallel
		d.Parallel.TwoBatch = false
	}
	d.Physics.Operators, d.Physics.Given = nil, nil // they belong to the model
	d.Engine.HostStep, d.Engine.HostSequence, d.Engine.Lookahead = 0, 0, 0
	field := "speculation.method"
	if sp.Method == "draft-model" {
		field = "speculation.tensor"
		d.Parallel.Tensor, d.Accelerator = sp.Tensor, &c.drafting.accelerator
		if sp.Accelerator == "" && sp.Tensor > tensor {
			c.problem(field, "found %d; the model has %d accelerators. Give the draft model its "+
				"own with "+
				"speculation.accelerator", sp.Tensor, tensor)
			return nil
		}
	}
	clock, err := d.NewClock()
	if err != nil {
		c.problem(field, "%v", err)
		return nil
	}
	c.addWarnings(clock.Warnings())
	return clock
}

// limitToDraftModel checks that a draft model fits on its own accelerators. Its cache must hold the
// same tokens as the model's cache, so the plan that it returns is limited to the smaller of the
// two.
func (c *server) limitToDraftModel(plan steptime.MemoryPlan) steptime.MemoryPlan {
	draft := &c.drafting
	d := c.spreadOver(steptime.Parallelism{Tensor: c.s.Speculation.Tensor})
	d.MaxContext = c.ownContext
	d.Model, d.Accelerator, d.Weights = draft.model, &draft.accelerator, draft.weights(&c.Config)
	d.Memory.DraftWeights, d.Memory.DraftKV, d.Memory.Tokens = 0, 0, 0
	own, err := d.PlanMemory()
	if err == nil {
		err = own.Err()
	}
	switch {
	case err != nil:
		c.problem("speculation.accelerator", "%s %v", draft.model.Name, err)
	case own.Tokens < plan.Tokens:
		c.warn("the KV memory is limited to the %d tokens that the draft model's own "+
			"accelerators hold", own.Tokens)
		plan.Tokens, plan.Blocks = own.Tokens, own.Tokens/plan.BlockTokens
	}
	return plan
}
