package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// tunedPlan has a fleet whose replicas hold few requests.
const tunedPlan = `
model: llama-2-70b
max-model-len: 3000
workload: {rate: 10/s, prompt: 500, output: 250}
slo: {ttft: 2s, tpot: 100ms}
menu: {hardware: [h100-sxm], tensor: [2]}
effort: {requests: 300, most-requests: 600}
`

// The best fleet with settings beside the engine's defaults costs less than the one with them. It
// has the settings that the answer names, in its scenario and in the command that starts it, and
// the fleet that it is compared with is the answer without tuning. Few simulations find it.
func TestTunedFleetsCostLess(t *testing.T) {
	find := func(overrides ...string) *finding {
		f, err := asked.Parse("tuned.yaml", []byte(tunedPlan), overrides...)
		testkit.OK(t, err)
		found, err := find(context.Background(), f, testQueue(t), Options{})
		testkit.OK(t, err)
		return found
	}
	tuned, plain := find(), find("menu.tune=none")
	a := tuned.tuned
	if plain.tuned != nil || plain.listed() != len(plain.options) ||
		tuned.listed() != len(plain.options) || a.WithoutHourly != plain.cost() ||
		a.Without != plain.label(plain.best) || a.WithoutReplicas != plain.size() {
		t.Fatalf("tuning is compared with %+v, and without it %s costs $%g/h", a,
			plain.label(plain.best), plain.cost())
	}
	if len(a.Settings) == 0 || tuned.cost() >= plain.cost() {
		t.Fatalf("tuned: $%g/h with %+v; plain: $%g/h", tuned.cost(), a.Settings, plain.cost())
	}
	if n := a.Simulations; n > tuned.Trials.Count() || n < a.Tried ||
		n > mostTuningRuns+judge.MostSeeds*8 {
		t.Errorf("%d simulations of %d, for %d settings", n, tuned.Trials.Count(), a.Tried)
	}
	d, err := tuned.fleet().Deploy(context.Background())
	testkit.OK(t, err)
	for _, set := range a.Settings {
		if !strings.Contains(d.Launch[0], set.Name+" "+set.Value) {
			t.Errorf("%+v is not in %s", set, d.Launch[0])
		}
	}
	s, err := scenarios.Parse("answer.yaml", []byte(d.Scenario))
	testkit.OK(t, err)
	for _, c := range tuned.chosen().Prefill.Changes {
		if c.Key != candidate.KVCache && s.Scenario.Batching.Params[strings.TrimPrefix(c.Key,
			"batching.")] !=
			c.Value || c.Key == candidate.KVCache && s.Scenario.Engine.KVCache != c.Value {
			t.Errorf("the scenario does not have %+v: %+v", c, s.Scenario.Batching)
		}
	}
}

// Beside an answer whose KV cache has a format that the menu did not ask for stands the answer
// without it: what the plan answers where the menu has the format of activations. It has no other
// cache, costs no less, and where the answer has the menu's format, nothing stands beside it.
func TestTheAnswerWithoutAnotherCacheStandsBeside(t *testing.T) {
	const text = "model: llama-3.1-8b\nworkload: {rate: 30/s, prompt: 500, output: 200}\n" +
		"slo: {ttft: 1s, tpot: 50ms}\nmenu: {hardware: [l40s], tensor: [1]}\n" +
		"effort: {requests: 300, most-requests: 600}\n"
	answered := func(overrides ...string) (*cheapestGoal, *answer.Priced) {
		f, err := asked.Parse("cache.yaml", []byte(text), overrides...)
		testkit.OK(t, err)
		found, err := find(t.Context(), f, testQueue(t), Options{})
		testkit.OK(t, err)
		s := found.goal.(*cheapestGoal)
		beside, err := s.plainCache(t.Context())
		testkit.OK(t, err)
		return s, beside
	}
	ours, beside := answered()
	theirs, none := answered("menu.kv-cache=[bf16]")
	if beside == nil || none != nil {
		t.Fatalf("beside %s: %+v, and without another cache %+v", ours.label(ours.best), beside,
			none)
	}
	if *beside != (answer.Priced{Label: theirs.label(theirs.best), Replicas: theirs.size(),
		Hourly: theirs.cost()}) || beside.Hourly <= ours.cost() ||
		strings.Contains(beside.Label, "fp8") {
		t.Errorf("%+v beside $%g; and with the menu's cache %s, $%g", beside, ours.cost(),
			bestOf(theirs.search, theirs.best), theirs.cost())
	}
}

// A stock in which the answer just fits has the same answer, also where no fleet of it keeps the
// SLO at the engine's defaults, beside others that do and without any.
func TestSettingsAreTriedWhereNoFleetKeepsTheSLO(t *testing.T) {
	q := testQueue(t)
	s, hourly, fleet := foundHourly(t, q, tunedPlan)
	stocked := func(more string) string {
		return strings.Replace(tunedPlan, "[h100-sxm]", fmt.Sprintf("[{accelerator: h100-sxm, "+
			"count: %d}%s]", s.accelerators(), more), 1)
	}
	plain := strings.Replace(stocked(""), "tensor", "tune: none, tensor", 1)
	none, _, _ := foundHourly(t, q, plain)
	if none.best >= 0 {
		t.Fatalf("%s keeps the SLO at the defaults", none.label(none.best))
	}
	for _, more := range []string{"", ", a100-80gb-sxm"} {
		found, price, other := foundHourly(t, q, stocked(more))
		if price > hourly*(1+worthTuning) {
			t.Fatalf("%s of a stock for $%g/h, without it %s for $%g/h", other, price, fleet,
				hourly)
		}
		if a := found.tuned; len(a.Settings) == 0 || more == "" && a.WithoutReplicas > 0 {
			t.Errorf("tuned: %+v", a)
		}
	}
}

// More ways of routing on the menu never make the answer dearer, also where a setting that is
// tried cannot be, such as a token budget below the number of sequences: it is left out.
func TestMoreRoutingsCostNoMore(t *testing.T) {
	hourly := func(routings string) float64 {
		s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 12/s, prompt: 1000, output: 200}
slo: {ttft: 1s, tpot: 50ms}
menu: {hardware: [l40s], tensor: [1], routing: [`+routings+`]}
effort: {requests: 100, most-requests: 400}
`)
		testkit.OK(t, s.cheapest(t.Context()))
		return s.cost()
	}
	if one, two := hourly("round-robin"), hourly("round-robin, least-requests"); two > one {
		t.Errorf("$%g/h with one routing, $%g/h with a second one to choose", one, two)
	}
}

// Where replicas start and stop, settings beside the engine's defaults let fewer of them run: the
// fleet costs a hundredth less at least than without them, and keeps the SLO. Settings take no more
// simulations than the search did, beside those of the last option that is tried.
func TestScaledFleetsAreTuned(t *testing.T) {
	f, err := asked.Parse("tuned.yaml", []byte(`
model: llama-3.1-8b
workload: {rate: {pattern: wave, average: 16/s, swing: 0.8, period: 10m, peak: 5m}, prompt: 3000, output: 60}
slo: {ttft: 2s, tpot: 25ms, percentile: 95}
menu:
  hardware: [h100-sxm]
  tensor: [1]
  scaling:
    - {policy: outstanding, target: 4, min: 1, keep: 30s, cold-start: {boot: 20s, disk: xeon-8480}}
effort: {requests: 200, most-requests: 400}
`))
	testkit.OK(t, err)
	s, err := find(t.Context(), f, testQueue(t), Options{})
	testkit.OK(t, err)
	a, o := s.tuned, s.chosen()
	if len(a.Settings) == 0 || !a.WithoutScaled || !o.Scaled() ||
		s.cost() > a.WithoutHourly*(1-worthTuning) {
		t.Fatalf("%s for $%g/h; %+v", s.label(s.best), s.cost(), a)
	}
	if before := s.Trials.Count() - a.Simulations; a.Simulations > before+2*judge.MostSeeds {
		t.Errorf("%d simulations of settings, %d before", a.Simulations, before)
	}
	kept, share, err := s.Keeps(t.Context(), o, s.outcomes[s.best].replicas, o.Worst(), s.Seeds)
	testkit.OK(t, err)
	if !kept {
		t.Errorf("%g of the requests keep the SLO", share)
	}
}

// Settings beside the engine's defaults raise the rate that a fleet serves, and the fleet with them
// keeps the SLO at that rate over several seeds.
func TestThroughputIsTuned(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {prompt: 3000, output: 60}
slo: {ttft: 2s, tpot: 25ms}
goal: {find: throughput, budget: $3/h}
menu: {hardware: [h100-sxm], tensor: [1]}
effort: {requests: 200, most-requests: 400}
`)
	g := goalOf(s)
	testkit.OK(t, g.find(t.Context()))
	if s.tuned.Settings == nil || s.Rate <= s.tuned.WithoutRate {
		t.Fatalf("%g/s with %+v, %g/s without", s.Rate, s.tuned.Settings, s.tuned.WithoutRate)
	}
	o := s.chosen()
	kept, share, err := s.Keeps(t.Context(), o, s.size(), o.Worst(), s.Seeds)
	testkit.OK(t, err)
	if !kept {
		t.Errorf("%g of the requests keep the SLO at %g/s", share, s.Rate)
	}
	a := &answer.Answer{}
	testkit.OK(t, g.show(t.Context(), a))
	if list := a.Throughputs; list[0].Rate != s.Rate || list[0].Label != s.label(s.best) {
		t.Errorf("%+v, want %s with %g/s", list[0], s.label(s.best), s.Rate)
	}
}

// Of a group, each side is changed by itself, and the format of the cache on both; what the plan
// says is never changed.
func TestGroupsAreTuned(t *testing.T) {
	f, err := asked.Parse("pools.yaml", []byte(`
model: llama-3.1-8b
workload: {rate: 10/s, prompt: 1000, output: 100}
slo: {ttft: 1s, tpot: 40ms}
menu:
  hardware: [h100-sxm]
  tensor: [1]
  disaggregated:
    - prefill: {replicas: 1, batching: [{token-budget: 4096}]}
      decode: {replicas: 1, tensor: [2]}
`))
	testkit.OK(t, err)
	s, err := newSearch(context.Background(), f, testQueue(t), Options{})
	testkit.OK(t, err)
	s.outcomes = make([]outcome, len(s.options))
	list, err := detail.ChangedFor(&s.Judge, s.options[len(s.options)-1], metrics.E2E)
	testkit.OK(t, err)
	var names []string
	for _, o := range list {
		prefill, decode := o.Prefill.Asked(), o.Decode.Asked()
		if prefill.Engine.KVCache != decode.Engine.KVCache ||
			prefill.Batching.Params["token-budget"] != "4096" {
			t.Errorf("%s: the cache differs, or what the plan says was changed",
				o.Label(&f.Plan.Menu))
		}
		for _, set := range o.Settings() {
			names = append(names, set.Pool+" "+set.Name)
		}
	}
	slices.Sort(names)
	for _, want := range []string{"decode --max-num-batched-tokens", "decode --max-num-seqs",
		"prefill --kv-cache-dtype"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not tried: %v", want, slices.Compact(names))
		}
	}
}

// A change of a setting takes the place of an earlier one, and its default stays the engine's.
func TestChangesReplaceEachOther(t *testing.T) {
	f, err := asked.Parse("tuned.yaml", []byte(tunedPlan))
	testkit.OK(t, err)
	options, err := candidate.Options(f)
	testkit.OK(t, err)
	first := candidate.Change{Key: "batching.token-budget", Value: "1024",
		Setting: answer.Setting{Name: "--max-num-batched-tokens", Value: "1024", Default: "8192"},
		Policy:  "vllm-v1"}
	second := first
	second.Value = "2048"
	s := options[0].Prefill
	if a, b := s.With(first).With(second), s.With(second); a.Label() != b.Label() ||
		a.Asked().Batching.Params["token-budget"] != "2048" ||
		len(a.Changes) != 1 || s.Label() == b.Label() {
		t.Errorf("%s and %s", a.Label(), b.Label())
	}
}
