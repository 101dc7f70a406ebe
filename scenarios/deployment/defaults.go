package deployment

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// Defaults holds the policies and limits of an engine without further flags.
type Defaults struct {
	Batching, Memory OwnPolicy
	// Utilization, StaticShare and KVShare are as in Memory. One of them is above 0.
	Utilization, StaticShare, KVShare float64
	// WindowShare is as in Memory.
	WindowShare float64
	// Graph is the largest number of tokens of a step that is launched as one captured graph; 0
	// means the preset's.
	Graph int
}

// OwnPolicy names the policy that an engine has, as policies.Default does, with the parameters in
// which the engine differs from the policy's own defaults.
type OwnPolicy struct {
	Name   string
	Params map[string]string
	// RunningLimit reports whether the engine computes the largest number of sequences from the
	// size of its cache: see Config.RunningLimit. Params then has the least value.
	RunningLimit bool
}

// defaultsOf returns the registry's defaults for a release on the accelerators of a replica.
func (c *Config) defaultsOf(r *engines.Release) Defaults {
	p, at := c.Parallel.Complete(), c.place()
	text := func(key string) string { s, _ := r.Setting(key, at); return s.Value }
	share := func(key string) float64 { x, _ := strconv.ParseFloat(text(key), 64); return x }
	d := Defaults{
		Batching:    OwnPolicy{Name: text("batching.policy"), Params: map[string]string{}},
		Memory:      OwnPolicy{Name: text("memory.policy")},
		Utilization: share("memory.utilization"), KVShare: share("memory.kv-share"),
		WindowShare: share("memory.window-share"),
		Graph:       r.Count("engine.graph", at),
	}
	for i := range r.Settings {
		param, ofBatching := strings.CutPrefix(r.Settings[i].Key, "batching.")
		s, ok := r.Setting(r.Settings[i].Key, at)
		if !ofBatching || !ok || param == "policy" {
			continue
		}
		n, err := strconv.Atoi(s.Value)
		if err != nil && s.Computed == "" {
			d.Batching.Params[param] = s.Value
			continue
		}
		if s.Computed == engines.RunningLimit {
			d.Batching.RunningLimit, n = true, engines.LeastRunning
		}
		if s.Computed == engines.LongestContext {
			n = max(2048, at.Context)
		}
		if s.PerRank {
			n *= p.Data
		}
		d.Batching.Params[param] = strconv.Itoa(n)
	}
	if s, ok := r.Setting("memory.static-share", at); ok && s.Computed == engines.StaticShare {
		chunk := r.Count("batching.chunk", at)
		d.StaticShare = engines.SGLangStaticShare(c.Accelerator.Memory, chunk, d.Graph,
			p.Tensor*p.Data, p.Pipeline, p.Data)
	}
	return d
}

// place returns where the engine runs.
func (c *Config) place() engines.Place {
	p := c.Parallel.Complete()
	at := engines.Place{Accelerator: c.Accelerator, Tensor: p.Tensor * p.Data,
		Context: c.MaxContext}
	if c.Model != nil {
		at.Context = cmp.Or(at.Context, c.Model.MaxContext)
		at.Plain = c.Adapters.Count == 0 && c.Model.Plain()
	}
	return at
}

// RunningLimit returns the largest number of sequences that run together, over all data-parallel
// ranks, in an engine that computes it from the size of its cache.
func (c *Config) RunningLimit(plan *steptime.MemoryPlan) int {
	context := c.MaxContext
	if context == 0 {
		context = plan.ContextTokens
	}
	ranks := max(1, plan.Ranks)
	return ranks * engines.SGLangRunningLimit(plan.Tokens/ranks, context)
}

// Complete returns the name and the parameters of a policy. An empty name becomes the engine's own
// policy. If the policy is the engine's own, missing parameters take the engine's values.
func (o *OwnPolicy) Complete(name *string, given map[string]string) map[string]string {
	if *name == "" {
		*name = o.Name
	}
	if *name != o.Name {
		return given
	}
	all := map[string]string{}
	maps.Copy(all, o.Params)
	maps.Copy(all, given)
	return all
}

// WithinBudget lowers the engine's number of sequences to a token budget below it, as in vLLM,
// unless the number was given.
func (o *OwnPolicy) WithinBudget(c *Choice[sim.Scheduler], given map[string]string) {
	name, sequences := c.Number(policies.Sequences)
	_, budget := c.Number(policies.Tokens)
	if c.Name() == o.Name && o.Params[name] != "" && given[name] == "" && 0 < budget &&
		budget < sequences {
		c.SetLimit(budget, policies.Sequences)
	}
}
