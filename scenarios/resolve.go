package scenarios

import (
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// resolved is a scenario in which all names are looked up and all defaults filled in. It depends
// only on the written scenario and the files that it names.
type resolved struct {
	*notes
	fleet    *fleet
	policies *fleetPolicies
	demand   *demand
}

// choose looks up everything that the servers name, and their policies.
func (l *layout) choose() { l.runSteps((*server).lookUp, (*server).choosePolicies) }

// plan does the same as choose, and divides the memory of the servers.
func (l *layout) plan() {
	l.choose()
	l.runSteps((*server).planMemory)
}

// fit does the same as plan, and refuses servers whose model does not fit.
func (l *layout) fit() {
	l.plan()
	l.runSteps((*server).fit)
}

// resolve resolves a scenario. The error is an InputError if the scenario is wrong.
func resolve(file *File, registry *policies.Registry) (*resolved, error) {
	n := &notes{file: file}
	l := layOut(n, registry)
	l.fit()
	if err := n.err(); err != nil {
		return nil, err
	}
	f := l.compose()
	if err := n.err(); err != nil {
		return nil, err
	}
	r := &resolved{notes: n, fleet: f, demand: f.demands(), policies: f.fleetPolicies(registry)}
	return r, n.err()
}

// scenario returns the resolved scenario. Settings in which all pools agree are at the top, and all
// other settings in each pool, and only there.
func (r *resolved) scenario() Scenario {
	s := r.file.Scenario
	s.Routing = r.policies.routing
	if len(s.Fleet.Pools) == 0 {
		s.Replicas = r.fleet.replicas
	}
	s.Fleet, s.Workload, s.SLO = r.policies.keys, r.demand.workload, r.demand.slo
	s.Tokens, s.Adapters = s.Tokens.complete(), r.fleet.pools[0].s.Adapters
	s.Fleet.Pools = slices.Clone(s.Fleet.Pools)
	views := make([][]section, len(r.fleet.pools))
	for i := range r.fleet.pools {
		p := new(Pool)
		if len(s.Fleet.Pools) > 0 {
			p = &s.Fleet.Pools[i]
		}
		seen := r.fleet.pools[i].s
		views[i] = sections(&seen, p)
	}
	for n, top := range sections(&s, new(Pool)) {
		agreed := !slices.ContainsFunc(views[1:], func(view []section) bool {
			return !reflect.DeepEqual(view[n].asWritten(), views[0][n].asWritten())
		})
		if top.top.SetZero(); agreed {
			top.top.Set(views[0][n].top)
		}
		for _, view := range views {
			if !agreed || !view[n].pool.IsZero() {
				view[n].pool.Set(view[n].top)
			}
		}
	}
	return s
}

// choosePolicies finds the policies of a server. The engine's own are the default. It sets their
// names and parameters, Config.Policies and drafting.
func (c *server) choosePolicies() {
	c.s.Memory.replaceTiers(c.problem)
	own, anywhere := c.Config.Defaults(), c.Config.Anywhere()
	batching, kv := &c.s.Batching, &c.s.Memory
	given := batching.Params
	batching.Params = own.Batching.Complete(&batching.Policy, given)
	kv.Params = own.Memory.Complete(&kv.Policy, kv.Params)
	c.Config.Policies = deployment.Policies{
		Batching: choose(&c.view, anywhere, "batching", &c.registry.Batching,
			batching.slot("batching"),
			func(b *deployment.Choice[sim.Scheduler]) { own.Batching.WithinBudget(b, given) }),
		Memory: choose(&c.view, anywhere, "memory", &c.registry.Memory, kv.slot(), nil),
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
