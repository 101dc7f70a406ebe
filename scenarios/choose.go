package scenarios

import "github.com/llmsim/llmsim/scenarios/deployment"

// chosen is what was found, with its policies.
type chosen struct {
	*entries
	s        Scenario // with the policies and their parameters
	config   deployment.Config
	drafting drafting
}

// choosePolicies finds the policies of a server. The engine's own are the default.
func choosePolicies(f *entries) *chosen {
	c := &chosen{entries: f, s: f.s, config: f.config}
	c.s.Memory.takeTiers(c.problem)
	own, anywhere := c.config.Defaults(), c.config.Anywhere()
	batching, kv := &c.s.Batching, &c.s.Memory
	batching.Params = own.Batching.Complete(&batching.Policy, batching.Params)
	kv.Params = own.Memory.Complete(&kv.Policy, kv.Params)
	c.config.Policies = deployment.Policies{
		Batching: choose(c.view, anywhere, "batching", &c.registry.Batching, &batching.Policy,
			&batching.Params),
		Memory: choose(c.view, anywhere, "memory", &c.registry.Memory, &kv.Policy, &kv.Params),
	}
	c.advise()
	if f.s.drafts() {
		c.drafting = f.findDrafting()
		c.s.Speculation = &c.drafting.written
		c.config.Speculation = c.drafting.written.Method
		if c.drafting.written.Scheduling == "synchronous" {
			c.config.Engine.Lookahead = 0
		}
	}
	return c
}

// advise warns of policies that other policies would beat in this combination, or with this model.
func (c *chosen) advise() {
	if c.config.KeepsWindowsWhole() {
		c.warn("memory.policy: %s keeps the KV of all tokens, also in layers of %s with a "+
			"sliding window; "+
			"%s by itself would not: use hybrid", c.s.Memory.Policy, c.config.Model.Name,
			c.config.Engine.Name)
	}
	if p := c.config.Policies.Batching.Policy; p != nil && p.Advice != nil {
		if advice := p.Advice(c.s.Memory.Policy); advice != "" {
			c.warn("%s", advice)
		}
	}
}
