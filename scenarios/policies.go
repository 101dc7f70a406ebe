package scenarios

import (
	"errors"
	"github.com/llmsim/llmsim/hardware"
	"strconv"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// chosen is the policies of a replica.
type chosen struct {
	batching *policies.Policy[sim.Scheduler]
	memory   *policies.Policy[sim.Memory]
}

// choosePolicies finds the policies and writes down their parameters.
func (b *builder) choosePolicies() {
	b.policies.batching = choose(b, "batching", &b.registry.Batching, &b.s.Batching.Policy, &b.s.Batching.Params)
	b.policies.memory = choose(b, "memory", &b.registry.Memory, &b.s.Memory.Policy, &b.s.Memory.Params)
	if p := b.policies.batching; p != nil && p.Advice != nil {
		if advice := p.Advice(b.s.Memory.Policy); advice != "" {
			b.warn("%s", advice)
		}
	}
	b.chooseSpeculation()
}

// choose finds the policy of that name, or the family's first, and adds the parameters that are not given. It returns nil, and
// notes the problem, where there is none.
func choose[T any](b *builder, field string, family *policies.Family[T], name *string, params *map[string]string) *policies.Policy[T] {
	*name = orDefault(*name, family.Policies[0].Name)
	policy, err := family.Lookup(*name)
	if err != nil {
		b.problem(field+".policy", "%v", err)
		return nil
	}
	all := map[string]string{}
	for _, p := range policy.Params {
		all[p.Name] = p.Default
	}
	for key, value := range *params {
		all[key] = value
	}
	*params = all
	if _, err := policy.Build(b.anywhere(), all); err != nil {
		b.policyProblem(field, err)
		return nil
	}
	return policy
}

// anywhere describes a place with memory enough, for checks of parameters before the real one is known.
func (b *builder) anywhere() policies.Deployment {
	place := policies.Deployment{KVTokens: 1 << 40, MaxContext: 1 << 20, TokenBytes: 1, Layers: b.layers()}
	if b.hostLink != nil {
		place.HostRate = b.hostLink.Bandwidth
	}
	if b.s.Memory.Swap > 0 {
		place.HostTokens = 1 << 40
	}
	return place
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

// count returns a whole-number parameter, 0 where the policy has none of that name.
func (p *Policy) count(name string) int { return atoi(p.Params[name]) }

func (m *KVMemory) count(name string) int { return atoi(m.Params[name]) }

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// deployment describes the place where a policy works. Replica numbers the replicas; routing, which serves all, is number 0.
func (b *builder) deployment(replica int) policies.Deployment {
	place := policies.Deployment{
		Seed: b.s.Seed + uint64(replica), KVTokens: int64(b.plan.Tokens), MaxContext: b.s.Engine.MaxModelLen, Layers: b.layers(),
	}
	b.attachHost(&place)
	return place
}

// layers counts the model's layers by what they see.
func (b *builder) layers() memory.Layers {
	var l memory.Layers
	for _, s := range b.model.States(1, hardware.DType(b.s.Engine.KVCache)) {
		if s.Window > 0 {
			l.Window, l.Windowed = s.Window, l.Windowed+s.Layers
		} else {
			l.Full += s.Layers
		}
	}
	return l
}

// replica makes a server with policies of its own. Replicas of a pool predict steps by the same clock.
func (b *builder) replica(number int) sim.ReplicaConfig {
	place := b.deployment(number)
	scheduler, err := b.policies.batching.Build(place, b.s.Batching.Params)
	if err != nil {
		b.policyProblem("batching", err)
	}
	memory, err := b.policies.memory.Build(place, b.s.Memory.Params)
	if err != nil {
		b.policyProblem("memory", err)
	}
	return sim.ReplicaConfig{
		Scheduler: scheduler, Memory: memory, Clock: b.clock, Host: swapSpace(&place),
		Stages: b.s.Parallelism.Pipeline, Lookahead: b.engine.Lookahead, Latency: b.clock.RequestLatency(),
		MaxContext: b.s.Engine.MaxModelLen,
	}
}

// router makes the policy that serves the whole fleet.
func (f *fleetBuilder) router() sim.Router {
	return fleetPolicy(f, "routing", &f.registry.Routing, &f.s.Routing.Policy, &f.s.Routing.Params)
}
