package scenarios

import (
	"errors"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// choosePolicies finds the policies and writes down their parameters. The engine's own are the default.
func (b *builder) choosePolicies() {
	s, own := &b.s, b.Defaults()
	s.Batching.Params = own.Batching.Complete(&s.Batching.Policy, s.Batching.Params)
	s.Memory.Params = own.Memory.Complete(&s.Memory.Policy, s.Memory.Params)
	b.Policies.Batching = choose(b, "batching", &b.registry.Batching, &s.Batching.Policy, &s.Batching.Params)
	b.Policies.Memory = choose(b, "memory", &b.registry.Memory, &s.Memory.Policy, &s.Memory.Params)
	if b.KeepsWindowsWhole() {
		b.warn("memory.policy: %s keeps the KV of all tokens, also in layers of %s with a sliding window; %s by itself would not: use hybrid",
			s.Memory.Policy, b.Model.Name, b.Engine.Name)
	}
	if p := b.Policies.Batching.Policy; p != nil && p.Advice != nil {
		if advice := p.Advice(s.Memory.Policy); advice != "" {
			b.warn("%s", advice)
		}
	}
	b.chooseSpeculation()
}

// choose finds the policy of that name, or the family's first, and adds the parameters that are not given. Its Policy is nil, and the
// problem noted, where there is none.
func choose[T any](b *builder, field string, family *policies.Family[T], name *string, params *map[string]string) deployment.Choice[T] {
	*name = orDefault(*name, family.Policies[0].Name)
	choice, err := deployment.Choose(family, *name, *params)
	if err != nil {
		b.problem(field+".policy", "%v", err)
		return choice
	}
	*params = choice.Params
	if _, err := choice.Build(b.Anywhere()); err != nil {
		b.policyProblem(field, err)
		return deployment.Choice[T]{}
	}
	return choice
}

// policyProblem places an error of a policy at the parameter that it is about.
func (b *builder) policyProblem(field string, err error) {
	var parameter *policies.ParamError
	if errors.As(err, &parameter) {
		b.problem(field+"."+parameter.Name, "%s", parameter.Problem)
		return
	}
	b.problem(field, "%v", err)
}

// replica makes a server with policies of its own. Replicas of a pool predict steps by the same clock.
func (b *builder) replica(number int) sim.ReplicaConfig {
	r, err := b.Replica(b.seed(number))
	var failed *deployment.PolicyError
	if errors.As(err, &failed) {
		b.policyProblem(failed.Family, failed.Err)
	}
	return r
}

// seed returns the seed of the policies of a replica. Routing, which serves all, has that of number 0.
func (b *builder) seed(replica int) uint64 { return b.s.Seed + uint64(replica) }

// router makes the policy that serves the whole fleet.
func (f *fleetBuilder) router() sim.Router {
	return fleetPolicy(f, "routing", &f.registry.Routing, &f.s.Routing.Policy, &f.s.Routing.Params)
}
