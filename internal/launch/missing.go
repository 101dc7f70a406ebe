package launch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/scenarios"
)

// missing says what of a scenario no flag expresses.
func missing(simulation *scenarios.Simulation, e *engine, groups []group) []string {
	s := &simulation.Scenario
	var list []string
	if s.Speculation != nil {
		list = append(list, "speculation: give the engine its draft model; the acceptance that "+
			"the scenario takes for granted is a property of your texts")
	}
	picker := "a gateway with an endpoint picker"
	if e.name == "vllm" {
		picker = "llm-d.yaml, whose endpoint picker comes near"
	}
	if s.Routing.Policy != "" && s.Routing.Policy != "round-robin" && s.Replicas > 1 {
		list = append(list, fmt.Sprintf("routing %s: a Kubernetes Service spreads connections at "+
			"random; use %s", s.Routing.Policy, picker))
	}
	for i := range groups {
		g := &groups[i]
		list = append(list, g.missing(e)...)
		list = append(list, g.missingParams(e)...)
		list = append(list, e.unscaled(g.name, &g.scaling)...)
		if g.role == "prefill" && e.name == "vllm" {
			list = append(list, "fleet.pools: a request goes to prefill and then to decode only "+
				"by way of llm-d.yaml or of Dynamo; with kubernetes.yaml alone, decode replicas "+
				"do both")
		} else if g.role == "prefill" {
			list = append(list, "fleet.pools: clients need a proxy in front that sends a request "+
				"to prefill and then to decode, such as Dynamo's frontend or the engine's own "+
				"router")
		}
		if g.hardware.Accelerator != s.Hardware.Accelerator {
			list = append(list, "fleet.pools: where a cluster has several accelerators, give each "+
				"pool a nodeSelector, which is the cluster's own")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// missing says what of a group no flag of the engine expresses.
func (d *deployed) missing(e *engine) (list []string) {
	say := func(format string, args ...any) {
		list = append(list, fmt.Sprintf(format, args...))
	}
	if known, ok := EngineOf(d.engine.Preset); !ok || known != e.name {
		say("engine.preset %s is simulated; the commands start %s", d.engine.Preset, e.name)
	}
	for _, name := range []string{"max-sequences", "token-budget"} {
		n, err := strconv.Atoi(d.batching.Params[name])
		if err == nil && n%d.ranks() > 0 && e.name != "sglang" {
			say("batching.%s %d: each of %d ranks has a limit of its own, %s", name, n, d.ranks(),
				d.perRank(name))
		}
	}
	p := d.parallelism
	if p.Redundant > 0 && e.name == "trtllm" {
		say("parallelism.redundant-experts %d: TensorRT-LLM reads copies of experts from a file "+
			"of its load balancer, which is not written", p.Redundant)
	}
	if p.Overlap != "" && e.name != "sglang" {
		say("parallelism.overlap %s: no flag of %s is written for it", p.Overlap, e.name)
	}
	switch d.batching.Policy {
	case "vllm-v1", "sglang", "trtllm":
	case "priority":
		if e.name != "vllm" {
			say("batching priority: only vLLM has a flag for it here")
		}
	default:
		say("batching %s: %s has its own scheduler", d.batching.Policy, e.name)
	}
	if own := d.server.Defaults().Memory.Name; own == "hybrid" && d.memory.Policy != own {
		say("memory %s: %s keeps what layers with windows and states need, as hybrid does",
			d.memory.Policy, e.name)
	}
	if d.memory.Policy == "offload" {
		say("memory offload: no flag of %s is written for what is kept in host memory", e.name)
	}
	weights := hardware.DType(d.engine.Weights)
	if flag, _ := d.asksWeights(); !d.stored && (flag == "" || e.name == "trtllm") {
		say("engine.weights %s: no published checkpoint of %s with such weights is known here; "+
			"name one", weights, d.model)
	}
	if kv := d.engine.KVCache; kv == "int8" || kv == "fp32" {
		say("engine.kv-cache %s: no flag of %s is written for it", kv, e.name)
	}
	return list
}

// missingParams names the given parameters of policies that no flag sets.
func (d *deployed) missingParams(e *engine) (list []string) {
	for section, params := range map[string]map[string]string{
		"batching": d.batching.Params, "memory": d.memory.Params} {
		for _, name := range slices.Sorted(maps.Keys(params)) {
			key := section + "." + name
			if _, known := Flag(e.name, key); !known && d.given(key) {
				list = append(list, fmt.Sprintf("%s %s: no flag of %s is written for it", key,
					params[name], e.name))
			}
		}
	}
	return list
}
