package engines

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/options"
	registry "github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Missing says what of a scenario no flag expresses.
func Missing(simulation *scenarios.Simulation, e *Engine, groups []Group) []string {
	s := &simulation.Scenario
	var list []string
	picker := "a gateway with an endpoint picker"
	if e.Name == "vllm" {
		picker = "llm-d.yaml, whose endpoint picker comes near"
	}
	if s.Routing.Policy != "" && s.Routing.Policy != "round-robin" &&
		len(simulation.Config().Replicas) > 1 {
		list = append(list, fmt.Sprintf("routing %s: a Kubernetes Service spreads connections at "+
			"random; use %s", s.Routing.Policy, picker))
	}
	for i := range groups {
		g := &groups[i]
		_, lacks := g.drafter(e.Name)
		list = append(list, lacks...)
		list = append(list, g.missing(e)...)
		list = append(list, g.missingParams(e)...)
		list = append(list, e.Unscaled(g.Name, &g.Scaling)...)
		if g.Role == "prefill" && e.Name == "vllm" {
			list = append(list, "fleet.pools: a request goes to prefill and then to decode only "+
				"by way of llm-d.yaml or of Dynamo; with kubernetes.yaml alone, decode replicas "+
				"do both")
		} else if g.Role == "prefill" {
			list = append(list, "fleet.pools: clients need a proxy in front that sends a request "+
				"to prefill and then to decode, such as Dynamo's frontend or the engine's own "+
				"router")
		}
		if g.Hardware.Accelerator != s.Hardware.Accelerator {
			list = append(list, "fleet.pools: where a cluster has several accelerators, give each "+
				"pool a nodeSelector, which is the cluster's own")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// missing says what of a group no flag of the engine expresses.
func (d *Replica) missing(e *Engine) (list []string) {
	say := func(format string, args ...any) {
		list = append(list, fmt.Sprintf(format, args...))
	}
	if known := Of(d.Engine.Preset); known != e {
		say("engine.preset %s is simulated; the commands start %s", d.Engine.Preset, e.Name)
	}
	if n := d.Batching.Params["prefill-interval"]; e.Name == "vllm" && n != "" && n != "1" {
		say("batching.prefill-interval %s: vLLM has it since 0.25; add --prefill-schedule-interval",
			n)
	}
	for _, role := range []string{policies.Sequences, policies.Tokens} {
		if name, n := d.Batching.Number(role); n%d.Ranks() > 0 && e.Name != "sglang" {
			say("batching.%s %d: each of %d ranks has a limit of its own, %d", name, n, d.Ranks(),
				d.Limit(role))
		}
	}
	p := d.Parallelism
	if p.Redundant > 0 && e.Name == "trtllm" {
		say("parallelism.redundant-experts %d: TensorRT-LLM reads copies of experts from a file "+
			"of its load balancer, which is not written", p.Redundant)
	}
	if p.Overlap != "" && e.Name != "sglang" {
		say("parallelism.overlap %s: no flag of %s is written for it", p.Overlap, e.Name)
	}
	if d.Role == "prefill" && e.Name == "trtllm" && d.Engine.Scheduling != "synchronous" {
		say("engine.scheduling: under TensorRT-LLM, replicas that only compute prompts do not " +
			"schedule ahead (examples/disaggregated/README.md)")
	}
	switch d.Batching.Policy {
	case "vllm-v1", "sglang", "trtllm":
	case "priority":
		if e.Name != "vllm" {
			say("batching priority: only vLLM has a flag for it here")
		}
	default:
		say("batching %s: %s has its own scheduler", d.Batching.Policy, e.Name)
	}
	if own := d.Server.Defaults().Memory.Name; own == "hybrid" && d.Memory.Policy != own {
		say("memory %s: %s keeps what layers with windows and states need, as hybrid does",
			d.Memory.Policy, e.Name)
	}
	if d.Engine.StretchContext {
		say("engine.stretch-context: no flag is written for it; give the checkpoint's " +
			"rope_scaling, as its model card says")
	}
	d.missingHostMemory(e, say)
	e.missingStart(d, say)
	if from := optsIn().From; e.Name == "vllm" && d.Role != "mixed" &&
		d.Memory.Policy == "hybrid" && e.VersionOf(d).Compare(from) < 0 {
		say("memory hybrid: with a connector between pools, vLLM %s keeps all tokens in layers "+
			"with windows too, so that fewer fit than are simulated; %s has "+
			"--no-disable-hybrid-kv-cache-manager (vllm-project/vllm#42024)", e.VersionOf(d), from)
	}
	weights := hardware.DType(d.Engine.Weights)
	if !d.Stored && (d.asksWeights() == "" || e.Name == "trtllm") {
		say("engine.weights %s: no published checkpoint of %s with such weights is known here; "+
			"name one", weights, d.Model)
	}
	left := e.Table.Write(e.express(d), e.VersionOf(d), d.Ranks(), options.Server).Left
	for _, of := range registry.Asks() {
		if slices.Contains(left, of.Key()) {
			say("%s %s: no flag of %s %s says so; set its environment variables", of.Key(),
				d.Engine.Asked()[of], e.Name, e.VersionOf(d))
		}
	}
	if asked := d.Engine.PromptGraphs; d.Given("engine.prompt-graphs") &&
		(e.Name != "vllm" || asked != "off") {
		say("engine.prompt-graphs %s: no flag of %s is written for it", asked, e.Name)
	}
	if kv := d.Engine.KVCache; kv == "int8" || kv == "fp32" {
		say("engine.kv-cache %s: no flag of %s is written for it", kv, e.Name)
	}
	return list
}

// missingParams names the given parameters of policies that no flag sets.
func (d *Replica) missingParams(e *Engine) (list []string) {
	for section, params := range map[string]map[string]string{
		"batching": d.Batching.Params, "memory": d.Memory.Params} {
		for _, name := range slices.Sorted(maps.Keys(params)) {
			key := section + "." + name
			if _, known := e.Table.Flag(key); !known && d.Given(key) {
				list = append(list, fmt.Sprintf("%s %s: no flag of %s is written for it", key,
					params[name], e.Name))
			}
		}
	}
	return list
}
