package scenarios

import "github.com/llmsim/llmsim/scenarios/deployment"

// choosePolicies finds the policies of a server. The engine's own are the default. It sets their
// names and parameters, Config.Policies and drafting.
func (c *server) choosePolicies() {
	c.s.Memory.takeTiers(c.problem)
	own, anywhere := c.Config.Defaults(), c.Config.Anywhere()
	batching, kv := &c.s.Batching, &c.s.Memory
	batching.Params = own.Batching.Complete(&batching.Policy, batching.Params)
	kv.Params = own.Memory.Complete(&kv.Policy, kv.Params)
	c.Config.Policies = deployment.Policies{
		Batching: choose(c, anywhere, "batching", &c.registry.Batching, &batching.Policy,
			&batching.Params),
		Memory: choose(c, anywhere, "memory", &c.registry.Memory, &kv.Policy, &kv.Params),
	}
	c.advise()
	if c.s.drafts() {
		c.drafting = c.findDrafting()
		c.s.Speculation = &c.drafting.written
		c.Config.Speculation = c.drafting.written.Method
		if c.drafting.written.Scheduling == "synchronous" {
			c.Config.Engine.Lookahead = 0
		}
	}
}

// advise warns of policies that other policies would beat in this combination, or with this model.
func (c *server) advise() {
	if c.Config.KeepsWindowsWhole() {
		c.warn("memory.policy: %s keeps the KV of all tokens, also in layers of %s with a "+
			"sliding window; "+
			"%s by itself would not: use hybrid", c.s.Memory.Policy, c.Config.Model.Name,
			c.Config.Engine.Name)
	}
	if p := c.Config.Policies.Batching.Policy; p != nil && p.Advice != nil {
		if advice := p.Advice(c.s.Memory.Policy); advice != "" {
			c.warn("%s", advice)
		}
	}
}
