package scenarios

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// comfortableContext is the number of tokens that a default parallelism must leave room for, where the model serves as many.
const comfortableContext = 8192

// fit divides the memory, and refuses a model that does not fit.
func (b *builder) fit() {
	b.planMemory()
	if len(b.problems) > 0 {
		return
	}
	if err := b.Plan.Err(); err != nil {
		b.problem("model", "%s %v. %s", b.Model.Name, err, b.whatWouldFit())
		return
	}
	b.limitContext()
}

// planMemory divides the memory, after choosing the parallelism where the scenario leaves it open.
func (b *builder) planMemory() {
	p := &b.s.Parallelism
	b.numberFormats()
	if longest := b.Model.MaxContext; longest > 0 && b.s.Engine.MaxModelLen > longest {
		b.problem("engine.max-model-len", "found %d; %s was made for contexts of at most %d tokens", b.s.Engine.MaxModelLen, b.Model.Name, longest)
		return
	}
	if p.Tensor == 0 {
		p.Tensor = b.smallestTensor()
	}
	full := p.degrees().Complete()
	p.Pipeline, p.Expert, p.Data = full.Pipeline, full.Expert, full.Data
	b.Config = b.spread(p.degrees())
	var err error
	if b.s.Memory.Utilization, err = b.Utilization(); err == nil {
		b.Plan, err = b.PlanMemory()
	}
	if err != nil {
		b.problem("parallelism", "%v", err)
		return
	}
	if tokens := b.s.Memory.Tokens; tokens > b.Plan.Tokens && b.Plan.Err() == nil {
		b.problem("memory.tokens", "found %d; there is room for %d. Lower it, or raise memory.utilization or parallelism.tensor", tokens, b.Plan.Tokens)
	}
}

// numberFormats writes down the formats that follow from the model where the scenario leaves them open.
func (b *builder) numberFormats() {
	e := &b.s.Engine
	sixteen := hardware.BF16
	if b.Model.DType == hardware.FP16 || b.Model.DType == hardware.FP32 {
		sixteen = b.Model.DType
	}
	e.Weights = orDefault(e.Weights, string(orDefault(b.Model.DType, sixteen)))
	e.KVCache = orDefault(e.KVCache, string(orDefault(b.Model.KV, sixteen)))
}

// spread returns the replica if it is spread as p says.
func (b *builder) spread(p steptime.Parallelism) deployment.Config {
	c := b.Config
	c.Parallel, c.MaxContext = p, b.s.Engine.MaxModelLen
	c.Weights, c.KV = hardware.DType(b.s.Engine.Weights), hardware.DType(b.s.Engine.KVCache)
	c.Memory.Utilization, c.Memory.Tokens = b.s.Memory.Utilization, b.s.Memory.Tokens
	if b.s.Memory.Utilization == 0 {
		c.Memory.KVShare = b.Defaults().KVShare
	}
	c.Memory.DraftWeights, c.Memory.DraftKV = b.draftBytes(p)
	return c
}

// fits reports whether an accelerator holds its share of the model and, between them, one context of a comfortable length.
func (b *builder) fits(c deployment.Config) bool {
	need := comfortableContext
	if b.s.Engine.MaxModelLen > 0 {
		need = b.s.Engine.MaxModelLen
	} else if b.Model.MaxContext > 0 {
		need = min(need, b.Model.MaxContext)
	}
	c.Memory.Tokens = 0
	return c.Holds(need)
}

// smallestTensor returns the smallest tensor parallelism within a node that holds the model, or 1 if none does.
func (b *builder) smallestTensor() int {
	for tp := 1; tp <= max(1, b.Accelerator.PerNode); tp *= 2 {
		if b.fits(b.spread(steptime.Parallelism{Tensor: tp, Pipeline: b.s.Parallelism.Pipeline, Data: b.s.Parallelism.Data})) {
			return tp
		}
	}
	return 1
}

// whatWouldFit names the least changes with which the model fits: more accelerators, a larger one, or smaller weights.
func (b *builder) whatWouldFit() string {
	degrees := b.s.Parallelism.degrees()
	var ways []string
	for tp := degrees.Tensor * 2; tp <= max(1, b.Accelerator.PerNode); tp *= 2 {
		if b.fits(b.spread(steptime.Parallelism{Tensor: tp, Pipeline: degrees.Pipeline, Data: degrees.Data})) {
			ways = append(ways, fmt.Sprintf("with tensor parallelism %d", tp))
			break
		}
	}
	if experts := b.Model.Experts(); experts != nil {
		for ranks := max(1, degrees.Data) * 2; degrees.Tensor*ranks <= experts.Experts; ranks *= 2 {
			if b.fits(b.spread(steptime.Parallelism{Tensor: degrees.Tensor, Pipeline: degrees.Pipeline, Data: ranks})) {
				ways = append(ways, fmt.Sprintf("with data parallelism %d, which spreads the experts", ranks))
				break
			}
		}
	}
	if larger := b.smallestLargerAccelerator(degrees); larger != "" {
		ways = append(ways, "on "+larger)
	}
	for _, d := range []hardware.DType{hardware.FP8, hardware.INT4} {
		cfg := b.spread(degrees)
		if cfg.Weights = d; b.fits(cfg) {
			ways = append(ways, fmt.Sprintf("with weights in %s", d))
			break
		}
	}
	if ways == nil {
		return "Spread it over more accelerators: raise parallelism.tensor or parallelism.pipeline."
	}
	return "It would fit " + strings.Join(ways, ", or ") + "."
}

// smallestLargerAccelerator returns the name of the accelerator of the same kind with the least memory on which the model fits.
func (b *builder) smallestLargerAccelerator(degrees steptime.Parallelism) string {
	best, least := "", 0.0
	for _, a := range b.catalog.Accelerators {
		cfg := b.spread(degrees)
		cfg.Accelerator = &a
		if a.Kind == b.Accelerator.Kind && (best == "" || a.Memory < least) && b.fits(cfg) {
			best, least = a.Name, a.Memory
		}
	}
	return best
}

// limitContext settles the longest context that is served: what the model was made for, or what the cache holds if that is less.
func (b *builder) limitContext() {
	most, asked := b.Plan.Longest(), b.s.Engine.MaxModelLen
	switch {
	case asked > most:
		b.problem("engine.max-model-len", "found %d; the KV cache holds %d tokens, less than one such context. Lower max-model-len, or raise memory.utilization or parallelism.tensor", asked, most)
	case asked > 0:
	case b.Model.MaxContext == 0 || b.Model.MaxContext > most:
		b.warn("contexts are limited to the %d tokens that the KV cache holds; %s was made for %d", most, b.Model.Name, b.Model.MaxContext)
		b.s.Engine.MaxModelLen = most
	default:
		b.s.Engine.MaxModelLen = b.Model.MaxContext
	}
	b.MaxContext = b.s.Engine.MaxModelLen
}
