package launch

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/checkpoints"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// deployed is a group of replicas as an engine sees it, with every default filled in.
type deployed struct {
	// name is that of the group.
	name, role string
	// model is the checkpoint that it loads, stored whether its weights are published in the
	// format of the scenario.
	model       string
	stored      bool
	hardware    scenarios.Hardware
	parallelism scenarios.Parallelism
	engine      scenarios.Engine
	batching    scenarios.Policy
	memory      scenarios.KVMemory
	scaling     scenarios.Scaling // without a policy where all replicas run always
	given       func(key string) bool
	graph       int // of Engine, where it is given
	server      *deployment.Server
}

// configFile is the name of the file in which an engine finds settings that have no flag.
func (d *deployed) configFile() string { return d.name + "-extra-llm-api-config.yaml" }

// perRank returns a parameter of the batching policy, which limits all data-parallel ranks
// together, as the limit of one of them.
func (d *deployed) perRank(name string) string {
	n, err := strconv.Atoi(d.batching.Params[name])
	if ranks := d.ranks(); err == nil && ranks > 1 {
		return strconv.Itoa((n + ranks - 1) / ranks)
	}
	return d.batching.Params[name]
}

// load sets the checkpoint of the model that a scenario calls by a name.
func (d *deployed) load(called string) {
	weights := hardware.DType(d.engine.Weights)
	d.model, d.stored = checkpoints.Of(d.server.Model, called, weights)
}

// ranks is the number of data-parallel ranks of a replica.
func (d *deployed) ranks() int { return max(1, d.parallelism.Data) }

// tokens is the size of the KV cache of a rank in tokens, where the scenario gives it; else 0.
func (d *deployed) tokens() int { return d.memory.Tokens / d.ranks() }

// gpus is the number of accelerators of a replica.
func (d *deployed) gpus() int {
	p := d.parallelism
	return max(1, p.Tensor) * max(1, p.Pipeline) * d.ranks()
}

// group is replicas that are alike.
type group struct {
	deployed
	replicas int
}

// groups returns the pools of a scenario, or the one group of all its replicas.
func groups(simulation *scenarios.Simulation) []group {
	s, servers := &simulation.Scenario, simulation.Servers()
	all := deployed{name: "server", role: "mixed",
		hardware: s.Hardware, parallelism: s.Parallelism, engine: s.Engine, batching: s.Batching,
		memory: s.Memory, server: servers[0]}
	all.given = simulation.Given
	if len(s.Fleet.Pools) == 0 {
		all.load(s.Model)
		if all.given("engine.graph") {
			all.graph = s.Engine.Graph
		}
		return []group{{deployed: all, replicas: max(1, s.Replicas)}}
	}
	list := make([]group, len(s.Fleet.Pools))
	for i := range s.Fleet.Pools {
		p, one := &s.Fleet.Pools[i], all
		if p.Role != "" {
			one.role = p.Role
		}
		if p.Hardware.Accelerator != "" {
			one.hardware = p.Hardware
		}
		if p.Parallelism != (scenarios.Parallelism{}) {
			one.parallelism = p.Parallelism
		}
		if p.Engine != (scenarios.Engine{}) {
			one.engine = p.Engine
		}
		if p.Batching.Policy != "" {
			one.batching = p.Batching
		}
		if p.Memory.Policy != "" {
			one.memory = p.Memory
		}
		one.name, one.server = fmt.Sprintf("%s-%d", one.role, i), servers[i]
		one.load(cmp.Or(p.Model, s.Model))
		one.scaling = p.Scaling
		one.given = givenIn(simulation, i)
		if one.given("engine.graph") {
			one.graph = one.engine.Graph
		}
		list[i] = group{deployed: one, replicas: p.Replicas}
	}
	return list
}

// givenIn returns a function that reports whether a key is given for a pool, in a section of the
// pool's own, or else in the one at the top.
func givenIn(simulation *scenarios.Simulation, pool int) func(key string) bool {
	own := fmt.Sprintf("fleet.pools.%d.", pool)
	return func(key string) bool {
		section, _, _ := strings.Cut(key, ".")
		if simulation.Given(own + section) {
			return simulation.Given(own + key)
		}
		return simulation.Given(key)
	}
}
