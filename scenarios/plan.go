package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// comfortableContext is the number of tokens for which a default parallelism must leave room, if
// the model's context is that long.
const comfortableContext = 8192

// planMemory divides the memory. First it chooses the parallelism, if the scenario does not give
// it. It sets parallelism, number formats, the share of memory that is used, twin, and Plan; the
// model may not fit.
func (p *server) planMemory() {
	p.unspread = p.Config
	model, longest := p.Config.Model, p.Config.Model.MaxContext
	p.numberFormats()
	asked := p.s.Engine.MaxModelLen
	if longest > 0 && asked > longest && !p.s.Engine.StretchContext {
		p.problem("engine.max-model-len", "found %d; %s was made for contexts of at most %d "+
			"tokens (for YaRN set engine.stretch-context=true)", asked, model.Name, longest)
		return
	}
	degrees := &p.s.Parallelism
	if degrees.Tensor == 0 {
		p.smallestTensor(degrees)
	}
	full := degrees.degrees().Complete()
	degrees.Pipeline, degrees.Expert, degrees.Data = full.Pipeline, full.Expert, full.Data
	if e := p.Config.Release.Engine; degrees.Context > 1 && (e == nil || e.Name != "vllm") {
		p.problem("parallelism.decode-context", "found %d, and the engine %s; vLLM divides "+
			"contexts so", degrees.Context, p.Config.Engine.Name)
	}
	p.Config = p.spreadOver(degrees.degrees())
	if p.fitted != nil {
		p.twin = p.ownEvidence(p.fitted, &p.Config)
	}
	p.captureGraphs()
	p.checkMemoryShares()
	field, err := "parallelism", error(nil)
	if p.s.Memory.StaticShare > 0 {
		field = "memory.static-share"
	}
	if p.s.Memory.Utilization, err = p.Config.Utilization(); err == nil {
		p.s.Memory.StaticShare, p.s.Memory.KVShare = 0, 0
		p.Plan, err = p.Config.PlanMemory()
	}
	p.limitRunning()
	if err != nil {
		p.problem(field, "%v", err)
		return
	}
	if tokens := p.s.Memory.Tokens; tokens > p.Plan.Tokens && p.Plan.Err() == nil {
		p.problem("memory.tokens",
			"found %d; there is room for %d. Lower it, or raise memory.utilization "+
				"or parallelism.tensor", tokens, p.Plan.Tokens)
	}
	if p.s.drafts() && p.s.Speculation.Method == "draft-model" {
		sp := *p.s.Speculation
		sp.Tensor = cmp.Or(sp.Tensor, degrees.Tensor)
		p.s.Speculation = &sp
	}
}

// captureGraphs sets the largest step with a captured graph, if the engine chooses it by the memory
// of the accelerator. With fewer graphs than by itself, no measurement of the engine applies.
func (p *server) captureGraphs() {
	own := p.Config.Defaults().Graph
	switch asked := p.written.Engine.Graph; {
	case p.s.Engine.Eager:
		return
	case asked > 0:
		preset, err := steptime.FindEngine(p.s.Engine.Preset)
		least := cmp.Or(own, preset.Graph)
		p.Config.Physics.Adjusted = p.Config.Physics.Adjusted || err != nil || asked < least
	case own > 0:
		p.Config.Engine.Graph, p.s.Engine.Graph = own, own
	}
}

// limitRunning sets the largest number of sequences that run together, if the engine computes it
// from the size of its cache.
func (p *server) limitRunning() {
	own, batching := p.Config.Defaults().Batching, &p.Config.Policies.Batching
	name, _ := batching.Number(policies.Sequences)
	_, given := p.written.Batching.Params[name]
	if given || !own.RunningLimit || batching.Name() != own.Name || p.Plan.Blocks == 0 {
		return
	}
	batching.SetLimit(p.Config.RunningLimit(&p.Plan), policies.Sequences)
	chosen, slot := *batching, p.s.Batching.slot("batching")
	slot.fill(&chosen)
}

// checkMemoryShares refuses a scenario that gives more than one of the shares of memory.
func (p *server) checkMemoryShares() {
	var given []string
	for name, share := range map[string]float64{"utilization": p.s.Memory.Utilization,
		"static-share": p.s.Memory.StaticShare, "kv-share": p.s.Memory.KVShare} {
		if share > 0 {
			given = append(given, name)
		}
	}
	if slices.Sort(given); len(given) > 1 {
		p.problem("memory", "found %s, which say the same in several ways. Leave one of them",
			strings.Join(given, " and "))
	}
}

// numberFormats sets the number formats that the scenario does not give; they follow from the
// model.
func (p *server) numberFormats() {
	e, m := &p.s.Engine, p.Config.Model
	e.Weights = cmp.Or(e.Weights, string(cmp.Or(m.DType, hardware.BF16)))
	e.KVCache = cmp.Or(e.KVCache, string(cmp.Or(m.KV,
		steptime.Wide(m, hardware.DType(e.Weights)))))
}

// spreadOver returns the replica if it is spread over the accelerators that the degrees ask for.
func (p *server) spreadOver(degrees steptime.Parallelism) deployment.Config {
	c := p.unspread
	c.Parallel, c.MaxContext = degrees, p.s.Engine.MaxModelLen
	c.Weights, c.KV = hardware.DType(p.s.Engine.Weights), hardware.DType(p.s.Engine.KVCache)
	m := &p.s.Memory
	c.Memory.Utilization, c.Memory.StaticShare, c.Memory.KVShare = m.Utilization, m.StaticShare,
		m.KVShare
	c.Memory.Tokens, c.Memory.LargestStep = m.Tokens, m.LargestStep
	c.Memory.WindowShare = cmp.Or(m.WindowShare, c.Defaults().WindowShare)
	if m.Utilization == 0 && m.StaticShare == 0 && m.KVShare == 0 {
		d := c.Defaults()
		c.Memory.Utilization, c.Memory.KVShare = d.Utilization, d.KVShare
		c.Memory.StaticShare, c.Memory.OwnShare = d.StaticShare, true
	}
	if p.s.drafts() {
		c.Memory.DraftWeights, c.Memory.DraftKV = p.drafting.bytes(&c)
	}
	return c
}

// holds reports whether an accelerator holds its share of the model and, between them, one context
// of a comfortable length.
func (p *server) holds(c deployment.Config) bool {
	need := comfortableContext
	if longest := p.s.Engine.MaxModelLen; longest > 0 {
		need = longest
	} else if longest := c.Model.MaxContext; longest > 0 {
		need = min(need, longest)
	}
	c.Memory.Tokens = 0
	return c.Holds(need)
}

// smallestTensor sets the smallest tensor parallelism within a node that holds the model, or 1 if
// no degree does. Experts are spread over the accelerators where the engine cannot split each of
// them.
func (p *server) smallestTensor(to *Parallelism) {
	degrees := to.degrees()
	experts := p.Config.Model.Experts() != nil && degrees.Expert == 0 && degrees.Data <= 1
	for tp := 1; tp <= max(1, p.Config.Accelerator.PerNode); tp *= 2 {
		d := steptime.Parallelism{Tensor: tp, Pipeline: degrees.Pipeline, Data: degrees.Data}
		if p.holds(p.spreadOver(d)) {
			to.Tensor = tp
			return
		}
		if d.Expert = tp; experts && p.holds(p.spreadOver(d)) {
			to.Tensor, to.Expert = tp, tp
			return
		}
	}
	to.Tensor = 1
}

// whatWouldFit names the least changes with which the model fits: more accelerators, a larger one,
// or smaller weights.
func (p *server) whatWouldFit() string {
	if p.Plan.Missing == 0 {
		return fmt.Sprintf("Raise memory.tokens to %d or more.", p.Plan.LeastTokens())
	}
	degrees := p.s.Parallelism.degrees()
	var ways []string
	if fewer := p.fewerSlots(); fewer != "" {
		ways = append(ways, fewer)
	}
	for tp := degrees.Tensor * 2; tp <= max(1, p.Config.Accelerator.PerNode); tp *= 2 {
		if p.holds(p.spreadOver(steptime.Parallelism{Tensor: tp, Pipeline: degrees.Pipeline,
			Data: degrees.Data})) {
			ways = append(ways, fmt.Sprintf("with tensor parallelism %d", tp))
			break
		}
	}
	if experts := p.Config.Model.Experts(); experts != nil {
		for ranks := max(1, degrees.Data) * 2; degrees.Tensor*ranks <= experts.Experts; ranks *= 2 {
			wider := steptime.Parallelism{Tensor: degrees.Tensor, Pipeline: degrees.Pipeline,
				Data: ranks}
			if p.holds(p.spreadOver(wider)) {
				ways = append(ways,
					fmt.Sprintf("with data parallelism %d, which spreads the experts", ranks))
				break
			}
		}
	}
	if larger := p.smallestLargerAccelerator(degrees); larger != "" {
		ways = append(ways, "on "+larger)
	}
	for _, d := range []hardware.DType{hardware.FP8, hardware.INT4} {
		c := p.spreadOver(degrees)
		if c.Weights = d; p.holds(c) {
			ways = append(ways, fmt.Sprintf("with weights in %s", d))
			break
		}
	}
	if ways == nil {
		return "Spread it over more accelerators: raise parallelism.tensor or parallelism.pipeline."
	}
	return "It would fit " + strings.Join(ways, ", or ") + "."
}

// smallestLargerAccelerator returns the name of the accelerator of the same kind with the least
// memory on which the model fits, "" without one.
func (p *server) smallestLargerAccelerator(degrees steptime.Parallelism) string {
	best, least := "", 0.0
	for _, a := range p.catalog.Accelerators {
		c := p.spreadOver(degrees)
		c.Accelerator = &a
		p.limitBatches(&c)
		if a.Kind == p.Config.Accelerator.Kind && (best == "" || a.Memory < least) && p.holds(c) {
			best, least = a.Name, a.Memory
		}
	}
	return best
}

// limitBatches gives a server the limits that its engine has on its accelerator, where the scenario
// does not say them, as choosePolicies does.
func (p *server) limitBatches(c *deployment.Config) {
	own, given := c.Defaults().Batching, p.written.Batching.Params
	name := c.Policies.Batching.Name()
	params := own.Complete(&name, given)
	if chosen, err := deployment.Choose(&p.registry.Batching, name, params); err == nil {
		own.WithinBudget(&chosen, given)
		c.Policies.Batching = chosen
	}
}

// fewerSlots says with how many slots for adapters the model would fit, "" if it would with no
// slot.
func (p *server) fewerSlots() string {
	slots := p.Config.Adapters.Slots
	hold := sort.Search(slots, func(n int) bool { // n slots are held, and not one more
		c := p.spreadOver(p.s.Parallelism.degrees())
		c.Adapters.Slots = n + 1
		return !p.holds(c)
	})
	if hold == 0 {
		return ""
	}
	return fmt.Sprintf("with %d slots for adapters (adapters.slots)", hold)
}

// fit refuses a model that does not fit, and decides the longest context that is served. It is the
// context that the model was made for, or what the cache holds if that is less. It sets ownContext
// and declared.
func (p *server) fit() {
	name, made := p.Config.Model.Name, p.Config.Model.MaxContext
	if err := p.Plan.Err(); err != nil {
		field := "model"
		switch {
		case p.Plan.Missing == 0:
			field = "memory.tokens"
		case p.Plan.Adapters > p.Plan.Missing: // it fits without them
			field = "adapters"
		}
		p.problem(field, "%s %v. %s", name, err, p.whatWouldFit())
		return
	}
	most, asked := p.Plan.Longest(), p.s.Engine.MaxModelLen
	switch {
	case asked > most:
		p.problem("engine.max-model-len",
			"found %d; the KV cache holds %d tokens, less than one such context. "+
				"Lower max-model-len, or raise memory.utilization or parallelism.tensor", asked,
			most)
	case asked > 0:
	case made == 0 || made > most:
		refused := ""
		if e := p.Config.Release.Engine; e != nil && e.Name == "vllm" && made > most {
			refused = fmt.Sprintf(", with which vLLM does not start: give it --max-model-len %d",
				most)
		}
		p.warn("contexts are limited to the %d tokens that the KV cache holds; %s was made for "+
			"%d%s", most, name, made, refused)
		p.s.Engine.MaxModelLen = most
	default:
		p.s.Engine.MaxModelLen = made
	}
	p.ownContext = p.s.Engine.MaxModelLen
	p.declared = cmp.Or(asked, made, most)
}
