package asked

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// A clause of an SLO counts the requests that must keep it: of each class those of the class, of a
// percentile those within its limit; gaps are counted by the run.
func TestClausesOfRuns(t *testing.T) {
	_, s := built(t, "workload={classes: [{name: a, rate: 1/s, prompt: 9, output: 9, "+
		"slo: {ttft: 1s, percentile: 90}}, {name: b, rate: 1/s, prompt: 9, output: 9, "+
		"slo: {ttft: {p50: 1s}, tpot: {p90: 50ms}, e2e: {p95: 3s}}}]}", "slo={}")
	var requests []planner.Request
	for i := range 10 {
		requests = append(requests,
			planner.Request{Class: 0, TTFT: sim.Time(i+1) * 200 * sim.Millisecond},
			planner.Request{Class: 1, TTFT: sim.Time(i+1) * 300 * sim.Millisecond,
				TPOT: sim.Time(i+1) * 10 * sim.Millisecond,
				E2E:  sim.Time(i+1) * 500 * sim.Millisecond})
	}
	seen := &planner.Observation{Simulation: s, Result: &scenarios.Result{}}
	seen.Result.Limits = []metrics.LimitResult{{Latency: metrics.TTFT, Percentile: 50},
		{Latency: metrics.ITL, Percentile: 99, Within: 0.97}}
	list := Clauses(seen, requests, 0.95)
	want := []Clause{
		{Class: "a", Target: 0.9, Kept: stats.Interval{Mean: 0.5}},
		{Latency: metrics.TTFT, Target: 0.5, Kept: stats.Interval{Mean: 0.3}},
		{Latency: metrics.TPOT, Target: 0.9, Kept: stats.Interval{Mean: 0.5}},
		{Latency: metrics.E2E, Target: 0.95, Kept: stats.Interval{Mean: 0.6}},
		{Latency: metrics.ITL, Target: 0.99, Kept: stats.Interval{Mean: 0.97}},
	}
	if len(list) != len(want) {
		t.Fatalf("%+v", list)
	}
	for i, g := range list {
		first := i == 0 || g.Latency == metrics.TTFT || g.Latency == metrics.E2E
		if g.Class != want[i].Class || g.Latency != want[i].Latency ||
			math.Abs(g.Kept.Mean-want[i].Kept.Mean) > 1e-12 || g.Target != want[i].Target ||
			(g.Late != nil) != first || (g.Name == "") != (i == 0) {
			t.Errorf("clause %d is %+v, want %+v", i, g, want[i])
		}
	}
	// Of a single class, or none, all requests count, and no class is named.
	_, s = built(t, "slo={ttft: 1s, itl: {p99: 1s}, percentile: 90}")
	seen.Simulation, seen.Result = s, &scenarios.Result{}
	if list = Clauses(seen, requests, 0.95); len(list) != 1 || list[0].Class != "" ||
		math.Abs(list[0].Kept.Mean-0.4) > 1e-12 { // 5 of one kind, and 3 of the other
		t.Errorf("%+v", list)
	}
}

// Where TTFT is what was simulated, or does not matter, a clause stays what it is.
func TestClausesUnderErrors(t *testing.T) {
	late := make([]stats.Interval, 2*lateSteps+1)
	for k := range late {
		late[k] = stats.Interval{Mean: 1 - float64(k)/100, Half: float64(k)}
	}
	g := Clause{Kept: stats.Interval{Mean: 0.5, Half: 7}, Target: 0.9, Late: late}
	for factor, want := range map[float64]stats.Interval{1: g.Kept, 8: late[48], 1.0 / 8: late[0],
		99: late[48], 0.001: late[0], math.Sqrt(8): late[36],
		math.Pow(8, 12.5/24): {Mean: 1 - 0.365, Half: 36.5}} {
		got := g.Under(LateBy(factor)).Kept
		if math.Abs(got.Mean-want.Mean) > 1e-9 || math.Abs(got.Half-want.Half) > 1e-9 {
			t.Errorf("%g times as late: %+v, want %+v", factor, got, want)
		}
	}
	g.Late = nil
	if g.Under(LateBy(2)).Kept != g.Kept {
		t.Error("the factor matters where TTFT does not")
	}
	g.Late = late
	for target, want := range map[float64]float64{1: 1.0 / 8, 0.76: 1, 0.64: math.Sqrt(8),
		0.635: math.Pow(8, 12.5/24), 1.1: 0} {
		g.Target = target
		if got := MostLate([]Clause{g}).Least(); math.Abs(got-want) > 1e-9 {
			t.Errorf("a share of %g is kept up to a factor of %g, want %g", target, got, want)
		}
	}
	if g.Target = 0.52; !math.IsInf(MostLate([]Clause{g}).Least(), 1) {
		t.Error("a share that all factors keep has a largest one")
	}
	if got := (&Clause{Target: 1, Kept: stats.Interval{Mean: 0.5}}).used(); got < 1e8 {
		t.Errorf("of a clause that allows no miss %g are used", got)
	}
}

// The largest factor on TTFT is by whichever limit it reaches first; a request that is refused, or
// late whatever TTFT is, has none.
func TestRoomOfRequests(t *testing.T) {
	r := planner.Request{TTFT: 100, TPOT: 10, E2E: 500}
	for _, c := range []struct {
		limits metrics.SLO
		want   float64
	}{
		{metrics.SLO{}, math.Inf(1)}, {metrics.SLO{TTFT: 250}, 2.5},
		{metrics.SLO{TPOT: 10}, math.Inf(1)},
		{metrics.SLO{TPOT: 9, TTFT: 250}, 0}, {metrics.SLO{E2E: 600}, 2},
		{metrics.SLO{E2E: 300}, 0},
		{metrics.SLO{TTFT: 250, E2E: 600}, 2}, {metrics.SLO{TTFT: 150, E2E: 600}, 1.5},
	} {
		if got := Room(&r, &c.limits); got != c.want {
			t.Errorf("%+v: %g, want %g", c.limits, got, c.want)
		}
	}
	r.Rejected = true
	if got := Room(&r, &metrics.SLO{}); got != 0 {
		t.Errorf("a request that was refused has room for %g", got)
	}
	if got := Room(&planner.Request{}, &metrics.SLO{TTFT: 7, E2E: 9}); got != 7 {
		t.Errorf("a request without latencies has room for %g", got)
	}
	factors := LateFactors()
	if len(factors) != 49 || factors[0] != 1.0/8 || factors[24] != 1 || factors[48] != 8 {
		t.Errorf("%v", factors)
	}
}

// Of no requests all keep a clause, of one nothing is known, and of few each counts by itself.
func TestSharesOfFewRequests(t *testing.T) {
	for n, want := range map[int]stats.Interval{0: {Mean: 1}, 1: {Mean: 1, Half: 1}} {
		if got := ShareKept(make([]float64, n), 0, 0.95); got != want {
			t.Errorf("%d requests: %+v, want %+v", n, got, want)
		}
	}
	rooms := []float64{0.5, 1, 2, 2} // of twenty requests or more, batches count
	for k, got := range Lateness(rooms, 0.95) {
		if want := ShareKept(rooms, LateFactors()[k], 0.95); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if got := ShareKept(rooms, 1, 0.95); got.Mean != 0.75 || got.Half <= 0 || got.Half >= 1 {
		t.Errorf("%+v", got)
	}
	many := slices.Repeat([]float64{1, 2}, 20)
	if got := ShareKept(many, 1.5, 0.95); got.Mean != 0.5 || got.Half != 0 {
		t.Errorf("batches of two: %+v", got)
	}
}

// What is wrong with a scenario is said of the key of the plan that it is from, at its line.
func TestProblemsAreThoseOfThePlan(t *testing.T) {
	f, err := Parse("plan.yaml", []byte(fixedPlan+"engine: {step: 1ms}\n"))
	testkit.OK(t, err)
	for key, want := range map[string]string{
		"hardware.accelerator": "menu.hardware", "hardware.link": "menu.hardware.link",
		"hardwares": "hardwares", "parallelism.tensor": "menu.tensor",
		"engine.preset": "menu.engines", "engine.max-model-len": "max-model-len",
		"engine.weights": "menu.weights", "batching.policy": "menu.batching.policy",
		"memory": "menu.memory", "routing": "menu.routing", "workload.rate": "workload.rate",
		"speculation.draft": "menu.speculation.draft", "fleet.pools": "menu.disaggregated",
		"engine.step": "engine.step",
	} {
		if got := keyOfPlan(key); got != want && key != "engine.step" { // as the plan
			t.Errorf("%s is from %s, want %s", key, got, want)
		}
		var list strict.Problems
		own := f.Asked(scenarios.BadInput(strict.Problems{{Path: key, Message: "no"}}))
		if !errors.As(own, &list) || list[0].Path != want || list[0].Message != "no" ||
			!strings.HasPrefix(list[0].Where, "plan.yaml") || !scenarios.IsInputError(own) {
			t.Errorf("%s: %v", key, own)
		}
		if !Concerns(own, want) || Concerns(own, want+"x") || Concerns(own, "other") {
			t.Errorf("%v concerns %s", own, want)
		}
		if path, reason := planner.Reason(own); path != want || reason != "no" {
			t.Errorf("the reason is %q: %q", path, reason)
		}
	}
	plain := errors.New("plain")
	if _, reason := planner.Reason(plain); f.Asked(plain) != plain || reason != "plain" ||
		Concerns(plain, "menu") {
		t.Error("an error that is no problem is changed")
	}
	if inner := (strict.Problems{{Path: "memory.size"}}); !Concerns(inner, "memory") ||
		Concerns(inner, "mem") {
		t.Error("a key does not hold what is within it")
	}
	two := strict.Problems{{Path: "memory.size"}, {Path: "batching"}}
	if Concerns(two, "memory") || Concerns(two, "batching") {
		t.Error("two problems concern one key")
	}
	without := &File{}
	if err := scenarios.BadInput(two); without.Asked(err).Error() != err.Error() {
		t.Error("a part of a plan has lines")
	}
	f, err = Parse("plan.yaml", []byte(fixedPlan), "menu.disaggregated=[{prefill: 1, decode: 1}]")
	testkit.OK(t, err)
	own := f.Asked(scenarios.BadInput(strict.Problems{{Path: "memory.size", Message: "no"}}))
	if !Concerns(own, "menu") || Concerns(own, "menu.memory") {
		t.Errorf("of a group: %v", own)
	}
}

// A plan is a file, or else a shipped one by its name, with or without the ending; an unknown name
// is refused with the nearest one.
func TestPlansByName(t *testing.T) {
	names := Shipped()
	list, err := List()
	testkit.OK(t, err)
	if len(list) != len(names) || !slices.Contains(names, "many-users") {
		t.Fatalf("%v of %v", list, names)
	}
	for i, name := range names {
		f, err := Open(name + ".yaml")
		testkit.OK(t, err)
		if f.Plan.Name == "" || list[i].Name != name || list[i].Title != f.Plan.Name {
			t.Errorf("%s is %+v", name, list[i])
		}
	}
	if _, err := Open("many-user"); err == nil || !scenarios.IsInputError(err) ||
		!strings.Contains(err.Error(), "did you mean many-users") {
		t.Errorf("error %v", err)
	}
	if _, err := Open("a/many-users"); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("error %v", err)
	}
	path := filepath.Join(t.TempDir(), "own.yaml")
	testkit.OK(t, os.WriteFile(path, []byte(fixedPlan), 0o600))
	f, err := Open(path, "name=mine", "seed=7")
	testkit.OK(t, err)
	if f.Name != path || f.Plan.Name != "mine" || f.Plan.Seed != 7 ||
		f.Plan.Effort.Confidence != 0.95 {
		t.Errorf("%+v", f.Plan)
	}
	for _, bad := range []string{"nme=mine", "seed", "workload.rate=0/s", "menu.hardware=[]",
		"menu.hardware=[{accelerator: h100-sxm, provider: nobody}]", "prices=none.csv",
		"menu.hardware=[{accelerator: h100-sxm, term: owned, price: $1/h, purchase: $1, " +
			"years: 1, draw: 1W, electricity: $1/kWh}]"} {
		if _, err := Open(path, bad); err == nil || !scenarios.IsInputError(err) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	if _, err := Parse("p.yaml", []byte("a: [")); err == nil || !scenarios.IsInputError(err) {
		t.Errorf("error %v", err)
	}
}
