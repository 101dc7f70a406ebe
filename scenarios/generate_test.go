package scenarios

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/llmsim/llmsim/policies"
)

// generator draws random scenarios of the policies of a registry. The same seed gives the same
// scenario. Each draw depends on the seed and its own key only, so that a new policy, parameter or
// draw leaves all other draws of a seed as they were.
type generator struct {
	seed      uint64
	registry  *policies.Registry
	overrides []string
}

// randomScenario returns the overrides that make the scenario of a seed.
func randomScenario(registry *policies.Registry, seed uint64) []string {
	g := &generator{seed: seed, registry: registry}
	g.set("seed", fmt.Sprint(g.below("seed", 1000)))
	g.server()
	g.load()
	g.fleet()
	return g.overrides
}

func (g *generator) set(key, value string) {
	g.overrides = append(g.overrides, key+"="+value)
}

// draw returns the number of a key.
func (g *generator) draw(key string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	return rand.NewPCG(g.seed, hash.Sum64()).Uint64()
}

// below returns a number from 0 to n−1.
func (g *generator) below(key string, n int) int { return int(g.draw(key) % uint64(n)) }

// chance reports true in one of n cases.
func (g *generator) chance(key string, n int) bool { return g.below(key+"?", n) == 0 }

// sometimes sets a key in one of n cases.
func (g *generator) sometimes(n int, key string, values ...string) {
	if g.chance(key, n) {
		g.set(key, g.pick(key, values...))
	}
}

// choose sets a key.
func (g *generator) choose(key string, values ...string) { g.set(key, g.pick(key, values...)) }

// pick returns one of some values: the one with the largest number of its own, so that another
// value changes the choice only where it is chosen itself (Thaler and Ravishankar, IEEE/ACM
// Transactions on Networking 6(1), 1998).
func (g *generator) pick(key string, values ...string) string {
	best, most := "", uint64(0)
	for i, value := range values {
		if number := g.draw(key + "=" + value); i == 0 || number > most {
			best, most = value, number
		}
	}
	return best
}

// server draws what each replica is.
func (g *generator) server() {
	g.choose("model", "gpt2", "llama-2-7b", "llama-3.1-8b", "mistral-7b", "mixtral-8x7b",
		"deepseek-v2-lite", "gpt-oss-20b")
	g.choose("hardware", "l4", "a100", "h100-sxm", "mi300x")
	g.sometimes(3, "parallelism", "1", "{tensor: 2}", "{pipeline: 2}", "{tensor: 2, pipeline: 3}",
		"{tensor: 2, data: 4}", "{tensor: 4, expert: 4}")
	g.sometimes(2, "engine.preset", "vllm-v1", "vllm-v1-sync", "trtllm", "sglang", "eager-2023",
		"ideal")
	g.sometimes(3, "engine.max-model-len", "100", "700", "3000")
	// Round times make the boundaries of steps of several replicas coincide.
	g.sometimes(4, "steps", "{prefill: {step: 13ms}, decode: {step: 7ms}}",
		"{prefill: {step: 10ms, token: 10us}, decode: {step: 10ms}}",
		"{prefill: {step: 5ms, token: 50us, square: 1ns}, decode: {step: 9ms, token: 20us, "+
			"context: 100ns}}")
	if !g.chance("batching", 4) {
		g.set("batching", policyOf(g, "batching", &g.registry.Batching))
	}
	if !g.chance("memory", 4) {
		g.set("memory", policyOf(g, "memory", &g.registry.Memory))
	}
	// A cache of some thousand tokens makes requests give way to each other.
	g.sometimes(2, "memory.tokens", "320", "800", "1600", "4800", "16000")
	g.sometimes(2, "memory.swap", "1GiB", "100MB")
	if g.chance("speculation", 3) {
		g.speculate()
	}
}

// policyOf draws a policy of a family for a key, and some of its parameters.
func policyOf[T any](g *generator, key string, family *policies.Family[T]) string {
	var names []string
	for i := range family.Policies {
		names = append(names, family.Policies[i].Name)
	}
	name := g.pick(key+".policy", names...)
	policy, err := family.Lookup(name)
	if err != nil {
		panic(err)
	}
	params := []string{"policy: " + name}
	for i := range policy.Params {
		p := &policy.Params[i]
		if at := key + "." + name + "." + p.Name; !g.chance(at, 3) {
			params = append(params, p.Name+": "+g.value(at, p))
		}
	}
	return "{" + strings.Join(params, ", ") + "}"
}

// value draws a value of a parameter: its default, or one that is small enough to matter in a short
// run.
func (g *generator) value(key string, p *policies.Param) string {
	switch {
	case p.Kind == policies.Flag:
		return g.pick(key, "true", "false")
	case len(p.Words) > 0:
		return g.pick(key, p.Words...)
	case p.Kind == policies.Word:
		return "\"" + p.Default + "\""
	case p.Kind == policies.Duration:
		return g.pick(key, p.Default, "50ms", "1s")
	case p.Kind == policies.Bytes:
		return g.pick(key, p.Default, "10MB", "2GiB")
	case p.Kind == policies.ByteRate:
		return g.pick(key, p.Default, "1GB/s")
	case p.Kind == policies.Number:
		return g.pick(key, p.Default, "0.1", "0.8")
	case strings.Contains(p.Name, "budget"):
		return g.pick(key, p.Default, "300", "2048")
	case strings.Contains(p.Name, "chunk"):
		return g.pick(key, p.Default, "64", "300")
	case strings.Contains(p.Name, "block"):
		return g.pick(key, "1", "7", "16", "64")
	}
	return g.pick(key, p.Default, "1", "2", "5", "16")
}

func (g *generator) speculate() {
	parts := []string{
		g.pick("speculation.method", "method: n-gram", "method: n-gram, match: 0.5",
			"method: eagle", "method: medusa", "method: layer-skip, layers: 2",
			"method: draft-model, draft: gpt2"),
		fmt.Sprintf("tokens: %d", 1+g.below("speculation.tokens", 6)),
		"acceptance: " + g.pick("speculation.acceptance", "0.6", "1",
			"{law: beta, mean: 0.7, std: 0.2}", "{law: by-position, positions: [0.9, 0.5]}"),
		"length: " + policyOf(g, "speculation.length", &g.registry.Drafting),
	}
	if !strings.Contains(parts[0], "n-gram") && !strings.Contains(parts[0], "layer-skip") &&
		g.chance("speculation.tree", 2) {
		parts = append(parts, "tree: {width: 2}")
	}
	if !g.chance("speculation.baseline", 6) {
		parts = append(parts, "baseline: skip")
	}
	g.set("speculation", "{"+strings.Join(parts, ", ")+"}")
}

// load draws who asks for what, and when.
func (g *generator) load() {
	g.choose("workload.requests", "8", "30", "60")
	if g.chance("workload.trace", 8) {
		g.set("workload.trace", "../workload/trace/testdata/"+g.pick("workload.trace", "llmsim.csv",
			"mooncake.jsonl", "azure2023.csv", "burstgpt.csv"))
		g.choose("workload.trace.overlong", "reject", "clamp")
		g.sometimes(2, "workload.rate", "5/s")
		return
	}
	g.choose("workload.prompt", "1", "20", "130", "{distribution: uniform, min: 1, max: 900}",
		"{distribution: lognormal, mean: 200, cv: 2, max: 3000}")
	g.choose("workload.output", "1", "2", "40", "{distribution: uniform, min: 1, max: 200}",
		"{distribution: exponential, mean: 90}")
	g.arrivals()
	g.sometimes(4, "workload.prefix", "{groups: 1, tokens: 100}",
		"{groups: 3, tokens: {distribution: uniform, min: 1, max: 90}, zipf: 1}")
	g.sometimes(6, "workload.distinct", "1", "5")
	g.sometimes(5, "workload.sessions", "2",
		"{turns: {distribution: uniform, min: 1, max: 5}, think: 500ms}")
	g.sometimes(3, "workload.patience", "200ms", "500ms", "2s", "20s")
	g.sometimes(8, "workload.duration", "2s", "20s")
	g.sometimes(4, "workload.classes",
		"[{name: a}, {name: b, share: 0.3, output: 7, slo: {e2e: 1s}}]",
		"[{name: a, tenant: x, patience: 500ms}, {name: b, tenant: y, rate: 3/s, arrivals: "+
			"constant}, {name: c, tenant: x, priority: 3, deadline: 1s}]")
	g.sometimes(4, "slo", "{ttft: 200ms}", "{e2e: 5s, percentile: 50}",
		"{tpot: 20ms, ttft: 1s, percentile: 90}",
		"{ttft: {p50: 100ms, p99: 1s}, itl: {p95: 60ms}}",
		"{ttft: {request: 1s, p90: 500ms}, tpot: {p99: 40ms}}")
}

func (g *generator) arrivals() {
	const key = "workload.arrivals"
	closed := fmt.Sprintf("{process: closed-loop, users: %d", 1+g.below("workload.users", 20))
	process := g.pick(key, "poisson", "constant", "at-once", "{process: gamma, cv: 3}",
		"{process: weibull, shape: 0.5}", "closed-loop", "closed-loop with think time",
		"closed-loop with ramp-up")
	switch process {
	case "closed-loop":
		process = closed + "}"
	case "closed-loop with think time":
		process = closed + ", think: {mean: 300ms, distribution: exponential}}"
	case "closed-loop with ramp-up":
		process = closed + ", ramp-up: 1s}"
	case "at-once":
	default:
		g.choose("workload.rate", "1/s", "10/s", "100/s",
			"{pattern: bursts, high: 50/s, for: 1s, pause: 3s}",
			"{pattern: wave, average: 9/s, swing: 1, period: 10s}")
	}
	g.set(key, process)
}

// fleet draws how many replicas there are and what goes on between them.
func (g *generator) fleet() {
	if g.chance("fleet.pools", 3) {
		g.pools()
	} else {
		g.sometimes(2, "replicas", "2", "3", "4")
	}
	if g.chance("routing", 2) {
		g.set("routing", policyOf(g, "routing", &g.registry.Routing))
	}
	if g.chance("fleet.admission", 4) {
		g.set("fleet.admission", policyOf(g, "fleet.admission", &g.registry.Admission))
	}
	g.sometimes(5, "fleet.queue-timeout", "100ms", "1s")
	if g.chance("fleet.outages", 3) {
		g.set("fleet.outages", g.outages())
		g.sometimes(2, "fleet.retries", "1", "3")
		g.sometimes(2, "fleet.retry-delay", "70ms", "1s")
	}
}

// outages draws failures, of which some may be of a replica that there is not.
func (g *generator) outages() string {
	var list []string
	for i := range 1 + g.below("fleet.outages", 3) {
		key := fmt.Sprintf("fleet.outages.%d", i)
		list = append(list, fmt.Sprintf("{replica: %d, at: %dms%s}", g.below(key+".replica", 2),
			g.below(key+".at", 60)*70, g.pick(key+".for", "", ", for: 350ms", ", for: 2s")))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (g *generator) pools() {
	const key = "fleet.pools"
	more := g.pick(key+".more", "", ", batching: sarathi", ", memory: {policy: prefix-cache}",
		", batching: any")
	if strings.HasSuffix(more, "any") {
		more = ", batching: " + policyOf(g, key+".batching", &g.registry.Batching)
	}
	switch g.pick(key, "apart", "apart and mixed", "scaled") {
	case "apart":
		g.set(key, fmt.Sprintf("[{role: prefill, replicas: %d}, {role: decode, replicas: %d%s}]",
			1+g.below(key+".prefill", 2), 1+g.below(key+".decode", 2), more))
		g.sometimes(2, "fleet.transfer", "{link: ethernet-100g}", "{whole: true}",
			"{overhead: 5ms}")
		if g.chance("fleet.handover", 3) {
			g.set("fleet.handover", policyOf(g, "fleet.handover", &g.registry.Routing))
		}
	case "apart and mixed":
		g.set(key, "[{role: prefill, replicas: 1}, {role: mixed, replicas: 1}, {role: "+
			"decode, replicas: 2"+more+"}]")
	default:
		scaling := "{" + strings.Trim(policyOf(g, key+".scaling", &g.registry.Scaling), "{}") +
			", every: 1s, cold-start: {boot: 700ms, network: ethernet-100g}}"
		g.set(key, "[{name: steady, replicas: 1}, {name: more, replicas: 3"+more+
			", scaling: "+scaling+"}]")
	}
}
