package scenarios

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
)

// comfortableContext is the number of tokens that a default parallelism must leave room for, where the model serves as many.
const comfortableContext = 8192

// fit divides the memory, and refuses a model that does not fit.
func (b *builder) fit() {
	b.planMemory()
	if len(b.problems) > 0 {
		return
	}
	if err := b.plan.Err(); err != nil {
		b.problem("model", "%s %v. %s", b.model.Name, err, b.whatWouldFit())
		return
	}
	b.limitContext()
}

// planMemory divides the memory, after choosing the parallelism where the scenario leaves it open.
func (b *builder) planMemory() {
	p := &b.s.Parallelism
	b.s.Memory.Utilization = orDefault(b.s.Memory.Utilization, 0.9)
	b.numberFormats()
	if longest := b.model.MaxContext; longest > 0 && b.s.Engine.MaxModelLen > longest {
		b.problem("engine.max-model-len", "found %d; %s was made for contexts of at most %d tokens", b.s.Engine.MaxModelLen, b.model.Name, longest)
		return
	}
	if p.Tensor == 0 {
		p.Tensor = b.smallestTensor()
	}
	full := p.degrees().Complete()
	p.Pipeline, p.Expert, p.Data = full.Pipeline, full.Expert, full.Data
	var err error
	if b.plan, err = steptime.Plan(b.memoryConfig(p.degrees())); err != nil {
		b.problem("parallelism", "%v", err)
		return
	}
	b.sizeCache()
}

// sizeCache gives the KV cache the size that the scenario sets.
func (b *builder) sizeCache() {
	tokens := b.s.Memory.Tokens
	if tokens == 0 || b.plan.Err() != nil {
		return
	}
	if tokens > b.plan.Tokens {
		b.problem("memory.tokens", "found %d; there is room for %d. Lower it, or raise memory.utilization or parallelism.tensor", tokens, b.plan.Tokens)
		return
	}
	b.plan.Limit(tokens)
}

func (p Parallelism) degrees() steptime.Parallelism {
	return steptime.Parallelism{Tensor: p.Tensor, Pipeline: p.Pipeline, Expert: p.Expert, Data: p.Data}
}

// Accelerators returns how many one replica takes. Degrees that are left open count as 1.
func (p Parallelism) Accelerators() int { return p.degrees().Complete().GPUs() }

// numberFormats writes down the formats that follow from the model where the scenario leaves them open.
func (b *builder) numberFormats() {
	e := &b.s.Engine
	sixteen := hardware.BF16
	if b.model.DType == hardware.FP16 || b.model.DType == hardware.FP32 {
		sixteen = b.model.DType
	}
	e.Weights = orDefault(e.Weights, string(orDefault(b.model.DType, sixteen)))
	e.KVCache = orDefault(e.KVCache, string(sixteen))
}

// memoryConfig describes the memory of one accelerator if the model is spread as p says.
func (b *builder) memoryConfig(p steptime.Parallelism) steptime.MemoryConfig {
	draft, draftKV := b.draftBytes(p)
	return steptime.MemoryConfig{
		Model: b.model, Accelerator: &b.accelerator, Parallel: p,
		Weights: hardware.DType(b.s.Engine.Weights), KV: hardware.DType(b.s.Engine.KVCache), Engine: b.engine,
		Utilisation: b.s.Memory.Utilization,
		TokenBudget: b.s.Batching.count("token-budget"), Sequences: b.s.Batching.count("max-sequences"),
		BlockTokens:  b.s.Memory.count("block-size"),
		Context:      b.s.Engine.MaxModelLen,
		DraftWeights: draft, DraftKV: draftKV,
	}
}

// fits tells whether an accelerator holds its share of the model and, between them, one context of a comfortable length.
func (b *builder) fits(cfg steptime.MemoryConfig) bool {
	plan, err := steptime.Plan(cfg)
	if err != nil || plan.Err() != nil {
		return false
	}
	need := comfortableContext
	if b.s.Engine.MaxModelLen > 0 {
		need = b.s.Engine.MaxModelLen
	} else if b.model.MaxContext > 0 {
		need = min(need, b.model.MaxContext)
	}
	return plan.Longest() >= need
}

// smallestTensor returns the smallest tensor parallelism within a node that holds the model, or 1 if none does.
func (b *builder) smallestTensor() int {
	for tp := 1; tp <= max(1, b.accelerator.PerNode); tp *= 2 {
		if b.fits(b.memoryConfig(steptime.Parallelism{Tensor: tp, Pipeline: b.s.Parallelism.Pipeline, Data: b.s.Parallelism.Data})) {
			return tp
		}
	}
	return 1
}

// whatWouldFit names the least changes with which the model fits: more accelerators, a larger one, or smaller weights.
func (b *builder) whatWouldFit() string {
	degrees := b.s.Parallelism.degrees()
	var ways []string
	for tp := degrees.Tensor * 2; tp <= max(1, b.accelerator.PerNode); tp *= 2 {
		if b.fits(b.memoryConfig(steptime.Parallelism{Tensor: tp, Pipeline: degrees.Pipeline, Data: degrees.Data})) {
			ways = append(ways, fmt.Sprintf("with tensor parallelism %d", tp))
			break
		}
	}
	if experts := b.model.Experts(); experts != nil {
		for ranks := max(1, degrees.Data) * 2; degrees.Tensor*ranks <= experts.Experts; ranks *= 2 {
			if b.fits(b.memoryConfig(steptime.Parallelism{Tensor: degrees.Tensor, Pipeline: degrees.Pipeline, Data: ranks})) {
				ways = append(ways, fmt.Sprintf("with data parallelism %d, which spreads the experts", ranks))
				break
			}
		}
	}
	if larger := b.smallestLargerAccelerator(degrees); larger != "" {
		ways = append(ways, "on "+larger)
	}
	for _, d := range []hardware.DType{hardware.FP8, hardware.INT4} {
		cfg := b.memoryConfig(degrees)
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
		cfg := b.memoryConfig(degrees)
		cfg.Accelerator = &a
		if a.Kind == b.accelerator.Kind && (best == "" || a.Memory < least) && b.fits(cfg) {
			best, least = a.Name, a.Memory
		}
	}
	return best
}

// limitContext settles the longest context that is served: what the model was made for, or what the cache holds if that is less.
func (b *builder) limitContext() {
	most, asked := b.plan.Longest(), b.s.Engine.MaxModelLen
	switch {
	case asked > most:
		b.problem("engine.max-model-len", "found %d; the KV cache holds %d tokens, less than one such context. Lower max-model-len, or raise memory.utilization or parallelism.tensor", asked, most)
	case asked > 0:
	case b.model.MaxContext == 0 || b.model.MaxContext > most:
		b.warn("contexts are limited to the %d tokens that the KV cache holds; %s was made for %d", most, b.model.Name, b.model.MaxContext)
		b.s.Engine.MaxModelLen = most
	default:
		b.s.Engine.MaxModelLen = b.model.MaxContext
	}
}
