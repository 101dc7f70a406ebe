package scenarios

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

const twoPools = `model: llama-3.1-8b
seed: 3
routing: least-requests
workload: {rate: 20/s, prompt: 900, output: 60, requests: 400}
fleet:
  pools:
    - {name: big, replicas: 2, hardware: h100-sxm}
    - {name: small, replicas: 3, hardware: a100-80gb-sxm, parallelism: {tensor: 2}, batching: sarathi}
`

func runYAML(t *testing.T, text string, overrides ...string) *Result {
	t.Helper()
	f, err := Parse("pools.yaml", []byte(text), overrides...)
	return run(t, build(t, f, err))
}

// Pools that differ in nothing serve as one of their sizes together.
func TestEqualPoolsAreOne(t *testing.T) {
	const common = "model: llama-3.1-8b\nhardware: h100-sxm\nrouting: least-tokens\nworkload: " +
		"{rate: 10/s, requests: 600}\n"
	one := runYAML(t, common+"replicas: 5\n")
	two := runYAML(t, common+"fleet: {pools: [{name: a, replicas: 2}, {name: b, replicas: 3, "+
		"hardware: h100-sxm}]}\n")
	if diff := cmp.Diff(one.Summary, two.Summary); diff != "" {
		t.Errorf("one pool (-) against two (+):\n%s", diff)
	}
	if one.Accelerators != two.Accelerators || !near(one.Cost, two.Cost) ||
		!near(one.MFU, two.MFU) || !near(one.MBU, two.MBU) {
		t.Errorf("one pool costs %v, two %v", one.Cost, two.Cost)
	}
	// What steps draw is that of the mean step of each pool, which differ a little.
	if math.Abs(two.Energy/one.Energy-1) > 1e-3 {
		t.Errorf("one pool takes %v Wh, two %v", one.Energy, two.Energy)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// Pools have one server where they are written alike: with sections of their own, or as at the top,
// whatever stands between them, and also with all defaults written out.
func TestPoolsThatAreWrittenAlikeHaveOneServer(t *testing.T) {
	const top = "model: llama-3.1-8b\nhardware: l4\nworkload: {requests: 20}\n"
	for _, pools := range []string{
		"[{name: a, replicas: 3}, {name: b, batching: dynamic, replicas: 2}, {replicas: 2}]",
		"[{name: a, replicas: 3, hardware: l40s}, {name: b, replicas: 2}, " +
			"{replicas: 2, hardware: l40s}]",
	} {
		f, err := Parse("t.yaml", []byte(top+"fleet: {pools: "+pools+"}\n"))
		s := build(t, f, err)
		want := run(t, s)
		text, err := s.Explain()
		if err == nil {
			f, err = Parse("t.yaml", text)
		}
		if got := run(t, build(t, f, err)); got.Setup != want.Setup || len(got.Kinds) != 2 ||
			len(want.Kinds) != 2 {
			t.Errorf("%s: %q, with all defaults %q", pools, want.Setup, got.Setup)
		}
	}
}

// sectionsOfPools are settings that the top of a scenario and a pool may each have: some are what
// others come to by default.
var sectionsOfPools = map[string][]string{
	"model":       {"llama-3.1-8b", "qwen3-vl-8b"},
	"hardware":    {"h100-sxm", "{accelerator: h100-sxm, price: $1/h}", "l40s"},
	"parallelism": {"{tensor: 1}", "{tensor: 2}", "{pipeline: 2}"},
	"engine": {"vllm-v1", "{preset: vllm-v1, kv-cache: bf16}", "{kv-cache: fp16}", "vllm-v0",
		"{max-model-len: 4096}", "{graph: 64}", "{eager: true}", "sglang"},
	"batching": {"vllm-v1", "orca", "{policy: edf, token-budget: 300}",
		"{policy: edf, token-budget: 300, chunk-limit: 0}", "{token-budget: 4096}"},
	"memory": {"prefix-cache", "paged", "{utilization: 0.8}", "{static-share: 0.5}",
		"{tokens: 30000}", "{block-size: 32}"},
	"speculation": {"{draft: llama-3.2-1b, acceptance: 0.8}",
		"{method: draft-model, draft: llama-3.2-1b, acceptance: {law: constant, rate: 0.8}}",
		"{draft: llama-3.2-1b, acceptance: {law: by-position, positions: [0.5, 1]}}",
		"{method: n-gram, acceptance: 0.3}"},
}

// A scenario with all defaults written out says the same of itself, and runs the same: a section in
// which pools agree stands at the top once, and pools have one server where their settings come out
// the same, however they are written.
func TestDefaultsWrittenOutAreTheSameScenario(t *testing.T) {
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, always ...string) string {
			text := ""
			for _, name := range slices.Sorted(maps.Keys(sectionsOfPools)) {
				if slices.Contains(always, name) ||
					rapid.IntRange(0, 2).Draw(t, label+name+"?") == 0 {
					text += ", " + name + ": " +
						rapid.SampledFrom(sectionsOfPools[name]).Draw(t, label+name)
				}
			}
			return text
		}
		text := "{workload: {requests: 4}" + draw("top ", "model", "hardware") +
			", fleet: {pools: ["
		for i := range rapid.IntRange(1, 3).Draw(t, "pools") {
			name := fmt.Sprint("p", i)
			text += "{name: " + name + ", replicas: " + fmt.Sprint(i+1) + draw(name+" ") + "}, "
		}
		text += "]}}"
		t.Log(text)
		read := func(data []byte) (*Simulation, error) {
			f, err := Parse("t.yaml", data)
			if err != nil {
				return nil, err
			}
			return f.Build(policies.Default())
		}
		s, err := read([]byte(text))
		if err != nil {
			return // pools that do not go together
		}
		ran++
		first, err := s.Explain()
		testkit.OK(t, err)
		again, err := read(first)
		if err != nil {
			t.Fatalf("with all defaults written out: %v\n%s", err, first)
		}
		if diff := cmp.Diff(s.Scenario, again.Scenario); diff != "" {
			t.Fatalf("with all defaults written out (-,+): %s", diff)
		}
		if diff := cmp.Diff(setup(kindsOf(s.pools)), setup(kindsOf(again.pools))); diff != "" {
			t.Fatalf("with all defaults written out, servers are others (-,+): %s", diff)
		}
	})
	if t.Logf("%d scenarios ran", ran); ran == 0 {
		t.Error("no scenario that was drawn can run")
	}
}

// The fleet's requests, tokens, accelerators, cost and energy are the sums of its pools', each at
// the price of its own hardware.
func TestPoolsSumUp(t *testing.T) {
	r := runYAML(t, twoPools)
	var sum PoolResult
	for _, p := range r.Pools {
		sum.Completed += p.Completed
		sum.OutputTokens += p.OutputTokens
		sum.Accelerators += p.Accelerators
		sum.Cost += p.Cost
		sum.Energy += p.Energy
		sum.AcceleratorHours += p.AcceleratorHours
	}
	if sum.Completed != r.Completed || sum.OutputTokens != r.TotalOutputTokens ||
		sum.Accelerators != r.Accelerators || r.Accelerators != 8 {
		t.Errorf("pools %+v against the fleet's %+v", r.Pools, r.Summary)
	}
	hours := r.Duration / 3600
	if want := hours * (2*2.99 + 6*1.79); !near(sum.Cost, want) || !near(r.Cost, want) ||
		!near(r.Energy, sum.Energy) || !near(r.AcceleratorHours, 8*hours) {
		t.Errorf("the fleet costs %v and takes %v Wh, its pools %v and %v; want %v", r.Cost,
			r.Energy, sum.Cost, sum.Energy, want)
	}
	big, small := r.Pools[0].Decode, r.Pools[1].Decode
	if big == nil || small == nil || cmp.Equal(big, small) {
		t.Errorf("a decode step is %+v and %+v; want two that differ", big, small)
	}
}

// The KV caches of a fleet with prefill on H100 and decode on A100 go at the pace of the slower
// network, here that of A100 servers.
func TestTransferAtThePaceOfTheSlowerEnd(t *testing.T) {
	const text = `model: llama-3.1-8b
workload: {rate: 5/s, prompt: 4000, output: 20, requests: 50}
fleet:
  transfer: {whole: true}
  pools:
    - {role: prefill, replicas: 1, hardware: h100-sxm}
    - {role: decode, replicas: 1, hardware: HARDWARE}
`
	mixed := runYAML(t, strings.ReplaceAll(text, "HARDWARE", "a100-80gb-sxm")).Fleet
	equal := runYAML(t, strings.ReplaceAll(text, "HARDWARE", "h100-sxm")).Fleet
	if mixed.Transfers != 50 || mixed.VisibleTransfer < 1.5*equal.VisibleTransfer {
		t.Errorf("%.2f ms visible to A100, %.2f ms to H100 (%d transfers); want twice as long "+
			"over half the bandwidth", mixed.VisibleTransfer, equal.VisibleTransfer,
			mixed.Transfers)
	}
}

// Two models share a fleet: each class goes to the pools that serve its model.
func TestTwoModels(t *testing.T) {
	const text = `hardware: h100-sxm
fleet:
  pools:
    - {name: large, replicas: 1, model: llama-3.1-70b, parallelism: {tensor: 4}}
    - {name: little, replicas: 2, model: llama-3.1-8b}
workload:
  rate: 10/s
  requests: 300
  output: 50
  classes: [{name: hard, model: llama-3.1-70b}, {name: easy, share: 4, model: llama-3.1-8b}]
`
	r := runYAML(t, text)
	if hard, easy := r.Classes["hard"].Completed,
		r.Classes["easy"].Completed; hard != r.Pools[0].Completed || easy != r.Pools[1].Completed ||
		hard+easy != 300 || hard == 0 {
		t.Errorf("%d hard and %d easy requests; the pools completed %d and %d", hard, easy,
			r.Pools[0].Completed, r.Pools[1].Completed)
	}
	for override, want := range map[string]string{
		"workload.classes.0.model=llama-3.1-7b": "workload.classes.0.model: no pool serves it: " +
			"unknown model \"llama-3.1-7b\"; did you mean llama-3.1-",
		"workload.classes=[{name: a}]": "workload.classes.0.model: the fleet serves " +
			"llama-3.1-70b and llama-3.1-8b",
		"fleet.pools.1.replicas=0":           "fleet.pools.1.replicas",
		"fleet.pools.1.name=large":           "fleet.pools.1: found a second pool called large",
		"fleet.pools.0.parallelism.tensor=1": "pool large: llama-3.1-70b",
		"fleet.pools.0.parallelism.tensor=3": "pool large: tensor parallelism 3 does not " +
			"divide the 64 attention heads",
		"fleet.pools.0.role=prefill": "a prefill or a decode pool of llama-3.1-70b " +
			"without the other",
		"fleet.pools.0.hardware=h10": "fleet.pools.0.hardware.accelerator: pool " +
			"large: unknown accelerator",
		"fleet.pools.0.batching=vllm": "fleet.pools.0.batching.policy: pool large: " +
			"unknown batching policy",
	} {
		f, err := Parse("pools.yaml", []byte(text), override)
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", override, err, want)
		}
	}
}

// A pool that scales beside one that does not takes what the other cannot: only its replicas start
// and stop.
func TestScalingBesideASteadyPool(t *testing.T) {
	r := runYAML(t, `model: llama-3.1-8b
routing: least-requests
workload: {rate: {pattern: phases, phases: [{rate: 2/s, for: 2m}, {rate: 60/s, for: 2m}, {rate: 2/s, for: 4m}]}, prompt: 900, output: 100}
fleet:
  pools:
    - {name: peak, replicas: 4, hardware: a100-80gb-sxm, parallelism: 1, scaling: {policy: outstanding, target: 20, keep: 30s, every: 5s}}
    - {name: base, replicas: 2, hardware: h100-sxm}
`)
	peak, base := r.Pools[0], r.Pools[1]
	if base.MeanReplicas != 2 || peak.MeanReplicas < 1.2 || peak.MeanReplicas > 3 {
		t.Errorf("%.2f replicas of the steady pool, %.2f of the one that scales", base.MeanReplicas,
			peak.MeanReplicas)
	}
	if hours := r.Duration / 3600; !near(peak.AcceleratorHours, peak.MeanReplicas*hours) ||
		!near(r.Cost, hours*(2*2.99+1.79*peak.MeanReplicas)) {
		t.Errorf("%.3f hours of accelerators, $%.3f in all", peak.AcceleratorHours, r.Cost)
	}
}

// Where an accelerator has no price, the whole has none: the sum of the others would be too little.
func TestWithoutAllPricesThereIsNoCost(t *testing.T) {
	r := runYAML(t, "model: llama-3.1-8b\nworkload: {rate: 4/s, prompt: 500, output: 100, "+
		"requests: 50}\nfleet: {pools: [{role: prefill, replicas: 1, hardware: h100-sxm}, "+
		"{role: decode, replicas: 1, hardware: mi355x}]}\n")
	if r.Cost != 0 || r.CostPerMillion != 0 || r.Pools[0].Cost == 0 {
		t.Errorf("$%g in all, $%g of the first pool", r.Cost, r.Pools[0].Cost)
	}
}

// A prefill replica computes a prompt that fits its memory, although prompt and answer together are
// longer than that: the request is refused where it does not fit, and the others go on.
func TestPromptsFitWhereAnswersDoNot(t *testing.T) {
	for _, reserve := range []string{"oracle", "pow2"} {
		r := runYAML(t, "model: mistral-7b\nhardware: h100-sxm\nbatching: sarathi\n"+
			"workload: {requests: 20, prompt: 150, output: {distribution: uniform, min: 50, "+
			"max: 170}, arrivals: at-once}\n"+
			"fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 2}]}\n",
			"memory={policy: contiguous, tokens: 320, reserve: "+reserve+"}")
		if r.Completed == 0 || r.Rejected == 0 || r.Sent() != 20 {
			t.Errorf("%s: %+v", reserve, r.Endings)
		}
	}
}

// Weighted routing gives each replica of a pool as many requests as its weight says, and a weight
// is refused with a routing that does not read it.
func TestPoolsGetRequestsByWeight(t *testing.T) {
	const pools = "fleet.pools=[{name: a, replicas: 2, hardware: h100-sxm, weight: 3}, " +
		"{name: b, replicas: 3, hardware: a100-80gb-sxm}]"
	r := runYAML(t, twoPools, pools, "routing=weighted", "workload.requests=900")
	if a, b := r.Pools[0].Completed, r.Pools[1].Completed; a != 600 || b != 300 {
		t.Errorf("%d and %d requests, want 2 × 3 for each 3 × 1", a, b)
	}
	f, err := Parse("pools.yaml", []byte(twoPools), pools)
	testkit.OK(t, err)
	_, err = f.Build(policies.Default())
	if err == nil || !strings.Contains(err.Error(), "fleet.pools.0.weight: has no meaning") {
		t.Errorf("with routing least-requests: %v", err)
	}
}
