package engines

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Replica is a replica of a group as an engine sees it, with every default filled in.
type Replica struct {
	// Name is the group's, Role mixed, prefill or decode, and Pool the name that the scenario gives
	// it; empty where it gives no name.
	Name, Role, Pool string
	// Model is the checkpoint that it loads, and Stored is set where its weights are published in
	// the format of the scenario.
	Model       string
	Stored      bool
	Hardware    scenarios.Hardware
	Parallelism scenarios.Parallelism
	Engine      scenarios.Engine
	Batching    scenarios.Policy
	Memory      scenarios.KVMemory
	Scaling     scenarios.Scaling // without a policy where all replicas run always
	Speculation *scenarios.Speculation
	// Given reports whether the scenario gives a key, and Graph is Engine's where it does.
	Given  func(key string) bool
	Graph  int
	Server *deployment.Server
}

// ConfigFile is the name of the file in which an engine finds settings that have no flag.
func (d *Replica) ConfigFile() string { return d.Name + "-extra-llm-api-config.yaml" }

// Limit returns the parameter of the batching policy with a role as the limit of one data-parallel
// rank.
func (d *Replica) Limit(role string) int {
	_, n := d.Batching.Number(role)
	return (n + d.Ranks() - 1) / d.Ranks()
}

// setLimit sets the term for the parameter of the batching policy with a role.
func (d *Replica) setLimit(t options.Terms, role string) {
	if name, value := d.Batching.Number(role); name != "" {
		t.Set("batching."+name, strconv.Itoa(value))
	}
}

// setParameters sets the terms for the parameters of the batching policy to which engines give
// names, where they are not the policy's defaults. setLimit sets the limits of a step.
func (d *Replica) setParameters(t options.Terms) {
	for _, s := range d.Batching.Settings() {
		role := s.Tag.Get("role")
		if s.Tag.Get("engine") != "" && role != policies.Sequences && role != policies.Tokens &&
			s.Default != s.Tag.Get("default") {
			t.Set("batching."+s.Name, s.Default)
		}
	}
}

// load sets the checkpoint of the model that a scenario calls by a name.
func (d *Replica) load(called string) {
	weights := hardware.DType(d.Engine.Weights)
	d.Model, d.Stored = models.ReleaseOf(d.Server.Model, called, weights,
		d.Server.Accelerator.Generation)
}

// Loads returns the size of the weights of the checkpoint, in bytes.
func (d *Replica) Loads() int64 {
	if d.Stored && d.Engine.Weights != "" {
		return d.Server.Model.WeightBytes(hardware.DType(d.Engine.Weights))
	}
	return d.Server.Model.WeightBytes(d.Server.Model.DType)
}

// Ranks is the number of data-parallel ranks of a replica.
func (d *Replica) Ranks() int { return max(1, d.Parallelism.Data) }

// tokens is the size of the KV cache of a rank in tokens, where the scenario gives it; else 0.
func (d *Replica) tokens() int { return d.Memory.Tokens / d.Ranks() }

// Accelerators is the number of accelerators of a replica.
func (d *Replica) Accelerators() int {
	p := d.Parallelism
	return max(1, p.Tensor) * max(1, p.Pipeline) * d.Ranks()
}

// Group is replicas that are alike.
type Group struct {
	Replica
	Replicas int
}

// Groups returns the pools of a scenario, or the one group of all its replicas.
func Groups(simulation *scenarios.Simulation) []Group {
	s, servers := &simulation.Scenario, simulation.Servers()
	all := Replica{Name: "server", Role: "mixed", Speculation: simulation.Scenario.Speculation,
		Hardware: s.Hardware, Parallelism: s.Parallelism, Engine: s.Engine, Batching: s.Batching,
		Memory: s.Memory, Server: servers[0]}
	all.Given = simulation.Given
	if len(s.Fleet.Pools) == 0 {
		all.load(s.Model)
		if all.Given("engine.graph") {
			all.Graph = s.Engine.Graph
		}
		return []Group{{Replica: all, Replicas: max(1, s.Replicas)}}
	}
	list := make([]Group, len(s.Fleet.Pools))
	for i := range s.Fleet.Pools {
		p, one := &s.Fleet.Pools[i], all
		if p.Role != "" {
			one.Role = p.Role
		}
		if p.Hardware.Accelerator != "" {
			one.Hardware = p.Hardware
		}
		if p.Parallelism != (scenarios.Parallelism{}) {
			one.Parallelism = p.Parallelism
		}
		if p.Engine != (scenarios.Engine{}) {
			one.Engine = p.Engine
		}
		if p.Batching.Policy != "" {
			one.Batching = p.Batching
		}
		if p.Memory.Policy != "" {
			one.Memory = p.Memory
		}
		if p.Speculation != nil {
			one.Speculation = p.Speculation
		}
		one.Name, one.Server = fmt.Sprintf("%s-%d", one.Role, i), servers[i]
		if p.Name != one.Role && p.Name != one.Name {
			one.Pool = p.Name
		}
		one.load(cmp.Or(p.Model, s.Model))
		one.Scaling = p.Scaling
		one.Given = givenIn(simulation, i)
		if one.Given("engine.graph") {
			one.Graph = one.Engine.Graph
		}
		list[i] = Group{Replica: one, Replicas: p.Replicas}
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
