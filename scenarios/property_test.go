package scenarios

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
)

// choices are values for keys of a scenario: sensible ones, extreme ones, and some that do not go
// together.
var choices = map[string][]string{
	"model": {"llama-2-7b", "mixtral-8x7b", "gpt2", "opt-13b", "falcon-7b",
		"deepseek-v2-lite", "mistral-7b"},
	"hardware": {"a100", "l4", "h100-sxm", "v100", "mi300x", "desktop-50gbs",
		"{accelerator: b200, price: $9/h}"},
	"parallelism": {"1", "{tensor: 2}", "{tensor: 2, pipeline: 2}", "{tensor: 16}",
		"{pipeline: 3}", "{tensor: 4, expert: 4}", "{tensor: 2, data: 4}",
		"{data: 8, pipeline: 2}"},
	"steps": {"{prefill: {step: 5ms, token: 50us}, decode: {step: 10ms, token: 20us, " +
		"context: 100ns}}"},
	"replicas": {"1", "3"},
	"engine": {"vllm-v1", "ideal", "eager-2023", "{weights: int4, kv-cache: fp8}",
		"{max-model-len: 2}", "{max-model-len: 700}"},
	"batching": {"{max-sequences: 1}", "{max-sequences: 3, token-budget: 5}",
		"{chunk-limit: 7}", "{token-budget: 1000000}"},
	"memory": {"{block-size: 1}", "{block-size: 7, utilization: 0.99}",
		"{utilization: 0.01}", "{policy: prefix-cache}"},
	"workload.rate": {"0.001/s", "1000/s",
		"{pattern: phases, phases: [{rate: 0/s, to: 9/s, for: 3s}, {rate: 1/s, for: 9s}], " +
			"repeat: true}", "{pattern: bursts, high: 50/s, for: 1s, pause: 9s, random: true}",
		"{pattern: wave, average: 1/s, swing: 1, period: 1m}"},
	"workload.arrivals": {"constant", "at-once", "{process: gamma, cv: 9}",
		"{process: weibull, shape: 0.5}", "{process: closed-loop, users: 4}",
		"{process: closed-loop, users: 2, think: {mean: 3s, distribution: exponential}}"},
	"workload.prompt": {"1", "512", "3000", "{distribution: uniform, min: 1, max: 9000}",
		"{distribution: zipf, exponent: 1, max: 99}",
		"{distribution: lognormal, mean: 700, cv: 3}"},
	"workload.output": {"1", "2", "{distribution: exponential, mean: 90}",
		"{distribution: gamma, mean: 200, cv: 2}"},
	"workload.prefix": {"{groups: 1, tokens: 100}",
		"{groups: 5, tokens: {distribution: uniform, min: 1, max: 50}, zipf: 1}"},
	"workload.distinct": {"1", "10"},
	"workload.sessions": {"2", "{turns: {distribution: uniform, min: 1, max: 5}, think: 1s}"},
	"workload.classes": {"[{name: a}, {name: b, share: 0.1, output: 7, slo: {e2e: 1s}}]",
		"[{name: a, tenant: x, patience: 2s}, {name: b, tenant: y, rate: 3/s, arrivals: " +
			"constant}, {name: c, tenant: x, priority: 3, deadline: 1s}]",
		"[{name: a}, {name: b, priority: 1, escalated: {from: a, share: 0.4}}]",
		"[{name: a, model: llama-2-7b}, {name: b, model: gpt2, prompt: 20, output: 30, " +
			"rate: 5/s}]"},
	"fleet.round-trip":  {"0s", "30ms"},
	"workload.patience": {"1s", "20s"},
	"routing": {"least-requests", "slo-aware", "{policy: kv-aware, period: 1s}",
		"prefix-aware", "gateway-api", "{policy: llm-d, period: 1s}"},
	"fleet.pools": {"[{name: new, replicas: 1}, {name: old, replicas: 2, hardware: v100, " +
		"parallelism: {tensor: 2}, batching: sarathi, memory: {policy: prefix-cache}}]",
		"[{name: one, replicas: 2, model: llama-2-7b}, {name: two, replicas: 1, model: gpt2, " +
			"hardware: l4, engine: {preset: ideal}, parallelism: 1, scaling: {policy: " +
			"outstanding, target: 2}}]",
		"[{role: prefill, replicas: 1}, {role: decode, replicas: 2, hardware: h100-sxm}]",
		"[{name: steady, replicas: 1}, {name: more, replicas: 3, hardware: h100-sxm, " +
			"parallelism: 1, scaling: {policy: queue, per-replica: 1, every: 1s, cold-start: " +
			"{boot: 1s, network: ethernet-100g}}}]"},
	"fleet.outages": {"[{replica: 0, at: 3s, for: 4s}]",
		"[{replica: 1, at: 1s}, {replica: 0, at: 2s, for: 10s}]"},
	"fleet.retries":              {"1"},
	"fleet.queue-timeout":        {"500ms", "30s"},
	"fleet.admission":            {"slo-aware", "{policy: rate-limit, rate: 2, burst: 1}"},
	"workload.duration":          {"1ms", "20s"},
	"slo":                        {"{ttft: 1ms}", "{e2e: 1h, percentile: 50}", "{percentile: 100}"},
	"seed":                       {"7", "18446744073709551615"},
	"memory.utilization":         {"1"},
	"workload.arrivals.process":  {"poisson"},
	"workload.prompt.value":      {"33"},
	"workload.sessions.think.cv": {"2"},
}

// Whatever a scenario combines, it is refused as bad input, or it runs and accounts for every
// request; and then the same scenario with every default written out runs the same.
func TestAnyScenarioIsRefusedOrRuns(t *testing.T) {
	keys := slices.Sorted(maps.Keys(choices))
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		overrides := []string{"workload.requests=30"}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 6,
			rapid.ID[string]).Draw(t, "keys") {
			overrides = append(overrides, key+"="+rapid.SampledFrom(choices[key]).Draw(t, key))
		}
		first := attempt(t, func() (*File, error) {
			return Parse("s.yaml", []byte("model: llama-2-7b\nhardware: a100-80gb-sxm\n"),
				overrides...)
		})
		if first == nil {
			return
		}
		ran++
		text, err := first.Explain()
		testkit.OK(t, err)
		second := attempt(t, func() (*File, error) { return Parse("explained.yaml", text) })
		if second == nil {
			t.Fatalf("refused with defaults written out:\n%s", text)
		}
		one, err := first.Run(context.Background())
		testkit.OK(t, err)
		two, err := second.Run(context.Background())
		testkit.OK(t, err)
		// a default that had to be limited is no default any more
		one.Warnings, two.Warnings = nil, nil
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("not the same with defaults written out:\n%s", diff)
		}
		if n := sentByUsers(first, one); n > 30 || n == 0 && first.Scenario.Workload.Duration == 0 {
			t.Fatalf("%d requests of users ended, want 30: %+v", n, one.Endings)
		}
		accountsForAll(t, one)
	})
	if ran == 0 {
		t.Error("no scenario was accepted")
	}
}

// sentByUsers returns how many requests ended, without requests sent on from another class.
func sentByUsers(s *Simulation, r *Result) int64 {
	n := r.Sent()
	for _, c := range s.Scenario.Workload.Classes {
		if c.Escalated != nil {
			n -= r.Classes[c.Name].Sent()
		}
	}
	return n
}

// accountsForAll reports whether classes, tenants and pools have all requests between them, each
// once.
func accountsForAll(t *rapid.T, r *Result) {
	for what, groups := range map[string]map[string]metrics.ClassSummary{
		"classes": r.Classes, "tenants": r.Tenants} {
		var sum metrics.Endings
		for _, g := range groups {
			sum.Completed += g.Completed
			sum.Rejected += g.Rejected
			sum.TimedOut += g.TimedOut
			sum.Cancelled += g.Cancelled
			sum.Cut += g.Cut
			sum.Lost += g.Lost
		}
		if len(groups) > 0 && sum != r.Endings {
			t.Fatalf("%s have %+v, all together %+v", what, sum, r.Endings)
		}
	}
	var completed int64
	for i := range r.Pools {
		completed += r.Pools[i].Completed
	}
	if len(r.Pools) > 0 && completed != r.Completed {
		t.Fatalf("pools completed %d requests, all together %d", completed, r.Completed)
	}
}

// attempt builds a scenario; nil means that it was refused as bad input.
func attempt(t *rapid.T, load func() (*File, error)) *Simulation {
	file, err := load()
	if err == nil {
		var s *Simulation
		if s, err = file.Build(policies.Default()); err == nil {
			return s
		}
	}
	if !IsInputError(err) {
		t.Fatalf("not an input error: %v", err)
	}
	return nil
}
