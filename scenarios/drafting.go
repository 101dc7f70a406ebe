package scenarios

import (
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// drafting is what speculative decoding is put together from.
type drafting struct {
	acceptance speculation.Acceptance
	lengths    deployment.Choice[speculation.Lengths]
	model      *models.Architecture // that is run for each token in a row; nil where there is none
	// accelerator is what the draft model runs on.
	accelerator hardware.Accelerator
	drafter     speculation.Drafter
}

// lookupToken is the host's time to look at a token of the text in an n-gram look-up: internal/engine/speculation/ngram.go on one core of the
// machine on which it was written (AMD EPYC, 2026), texts of 2,000 tokens, n-grams of 4 down to 2.
const lookupToken = 3 * sim.Nanosecond

// draftBytes returns what the drafter takes on each accelerator of a replica that is spread as p says: its weights, and its cache for
// a token.
func (b *builder) draftBytes(p steptime.Parallelism) (weights, kv float64) {
	if !b.s.drafts() {
		return 0, 0
	}
	sp, a, tp := b.s.Speculation, b.drafting.model, max(1, p.Tensor)
	wide := float64(2 * b.Model.Hidden)
	head := func(vocabulary int) float64 { return wide * float64((vocabulary+tp-1)/tp) }
	switch sp.Method {
	case "draft-model":
		if sp.Accelerator != "" {
			return 0, 0
		}
		tp = orDefault(sp.Tensor, tp)
		weights = float64(a.WeightBytesPerGPU(b.draftWeights(), tp, 1))
	case "eagle", "mtp":
		two := *a
		two.Groups = slices.Concat(a.Groups, a.Groups)
		weights = float64(two.WeightBytesPerGPU(b.draftWeights(), tp, 1) - a.WeightBytesPerGPU(b.draftWeights(), tp, 1))
		if sp.Vocabulary > 0 {
			weights += head(sp.Vocabulary)
		}
	case "medusa":
		return float64(sp.Tokens) * (head(b.Model.Vocab) + wide*float64(b.Model.Hidden)), 0
	default:
		return 0, 0
	}
	return weights, float64(a.KVBytesPerTokenPerGPU(hardware.DType(b.s.Engine.KVCache), tp))
}

// draftWeights is the number format of the drafter's weights: a prediction module and skipped layers are part of the model, EAGLE
// heads are published in 16 bits.
func (b *builder) draftWeights() hardware.DType {
	switch b.s.Speculation.Method {
	case "draft-model":
		return hardware.DType(orDefault(b.s.Speculation.Weights, string(b.drafting.model.DType)))
	case "mtp", "layer-skip":
		return hardware.DType(b.s.Engine.Weights)
	}
	if b.Model.DType == hardware.FP16 {
		return hardware.FP16
	}
	return hardware.BF16
}

// startDrafter makes the clocks that predict what drafting takes.
func (b *builder) startDrafter() {
	if !b.s.drafts() {
		return
	}
	sp, d := b.s.Speculation, &b.drafting
	switch sp.Method {
	case "n-gram":
		d.drafter = speculation.Lookup{Token: lookupToken}
	case "medusa":
		with := b.draftClock(speculation.OutputHead(b.Model, 0))
		without := b.draftClock(speculation.OutputHead(b.Model, b.s.Parallelism.Tensor))
		if with != nil && without != nil {
			d.drafter = speculation.NewHeads(with, without)
		}
	default:
		if clock := b.draftClock(d.model); clock != nil {
			d.drafter = speculation.NewModel(clock, sp.Method == "layer-skip")
		}
	}
	if sp.Accelerator != "" {
		b.fitDraftModel()
	}
}

// draftClock predicts the passes of a drafter. They follow each other without the host's scheduling in between.
func (b *builder) draftClock(a *models.Architecture) *steptime.Clock {
	sp := b.s.Speculation
	c := b.Config
	c.Model, c.Weights, c.Parallel = a, b.draftWeights(), steptime.Parallelism{Tensor: b.s.Parallelism.Tensor}
	c.Physics.Operators, c.Physics.Given = nil, nil // they are those of the model
	c.Engine.HostStep, c.Engine.HostSequence, c.Engine.Lookahead = 0, 0, 0
	field := "speculation.method"
	if sp.Method == "draft-model" {
		field = "speculation.tensor"
		sp.Tensor = orDefault(sp.Tensor, b.s.Parallelism.Tensor)
		c.Parallel.Tensor, c.Accelerator = sp.Tensor, &b.drafting.accelerator
		if sp.Accelerator == "" && sp.Tensor > b.s.Parallelism.Tensor {
			b.problem(field, "found %d; the model has %d accelerators. Give the draft model its own with speculation.accelerator", sp.Tensor, b.s.Parallelism.Tensor)
			return nil
		}
	}
	clock, err := c.NewClock()
	if err != nil {
		b.problem(field, "%v", err)
		return nil
	}
	b.addWarnings(clock.Warnings())
	return clock
}

// fitDraftModel checks that a draft model with accelerators of its own fits there. Its cache must hold what the model's does.
func (b *builder) fitDraftModel() {
	d, sp := &b.drafting, b.s.Speculation
	c := b.spread(steptime.Parallelism{Tensor: sp.Tensor})
	c.Model, c.Accelerator, c.Weights = d.model, &d.accelerator, b.draftWeights()
	c.Memory.DraftWeights, c.Memory.DraftKV, c.Memory.Tokens = 0, 0, 0
	plan, err := c.PlanMemory()
	if err == nil {
		err = plan.Err()
	}
	switch {
	case err != nil:
		b.problem("speculation.accelerator", "%s %v", d.model.Name, err)
	case plan.Tokens < b.Plan.Tokens:
		b.warn("the KV memory is limited to the %d tokens that the draft model's own accelerators hold", plan.Tokens)
		b.Plan.Tokens = plan.Tokens
		b.Plan.Blocks = plan.Tokens / b.Plan.BlockTokens
	}
}

// speculate gives each replica that decodes, of the pools that draft, a speculator.
func (f *fleetBuilder) speculate(c *sim.Config) {
	f.speculators = make([]*speculation.Speculator, len(c.Replicas))
	for i := range f.pools {
		p := &f.pools[i]
		if !p.s.drafts() || p.role == sim.Prefill {
			continue
		}
		for k := range p.size {
			if len(f.problems) > 0 {
				return
			}
			r := &c.Replicas[p.first+k]
			if made := f.builders[i].speculator(p.first+k, r); made != nil {
				f.speculators[p.first+k], r.Speculator = made, made
			}
		}
	}
}

// speculator makes the speculator of a replica.
func (b *builder) speculator(number int, r *sim.ReplicaConfig) *speculation.Speculator {
	sp, d := b.s.Speculation, &b.drafting
	lengths, err := d.lengths.Build(b.Place(b.seed(number)))
	if err != nil {
		b.policyProblem("speculation.length", err)
		return nil
	}
	made, err := speculation.New(speculation.Config{
		Acceptance: d.acceptance, Shape: sp.shape(), Drafter: d.drafter, Lengths: lengths, Verify: r.Clock,
		Match: sp.Match, Recompute: sp.Method == "eagle" || sp.Method == "mtp", Ahead: sp.Ahead, Cold: r.Role == sim.Decode,
		Step: sim.Time(sp.Overhead.Step), Sequence: sim.Time(sp.Overhead.Sequence),
		TokenBudget: b.TokenBudget(), Seed: b.s.Seed + uint64(number),
	})
	if err != nil {
		b.problem("speculation", "%v", err)
		return nil
	}
	return made
}
