package capacity

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// A fleet of alike replicas needs as many of them by simulations of a part of it as by simulations
// of all of it, from 4 % fewer to 2 % more: under each routing policy, where the time
// per token binds, and where the first token does. The long test goes up to 512 replicas.
func TestPartsOfFleets(t *testing.T) {
	testkit.Dear(t)
	loads := []struct{ name, text string }{
		{"TPOT", "workload: {rate: 1/s, prompt: {distribution: lognormal, mean: 400, cv: 1, " +
			"max: 8000}, output: {distribution: lognormal, mean: 60, cv: 0.8, max: 600}}\n" +
			"slo: {ttft: 1s, tpot: 30ms}\nmenu: {hardware: [h100-sxm], tensor: [1]"},
		{"TTFT", "workload: {rate: 1/s, prompt: {distribution: lognormal, mean: 1500, cv: 0.6, " +
			"max: 8000}, output: 10}\n" +
			"slo: {ttft: 800ms}\nmenu: {hardware: [l40s], tensor: [1]"},
		{"few sequences", "workload: {rate: 1/s, prompt: 300, output: {distribution: lognormal, " +
			"mean: 150, cv: 1, max: 2000}}\nslo: {ttft: 500ms, tpot: 60ms}\n" +
			"menu: {hardware: [a100-80gb-sxm], tensor: [1], batching: [{max-sequences: 8}]"},
	}
	sizes, policies := []int{128, 512}, judge.RoutingsOfParts()[1:]
	if !*long {
		loads, sizes, policies = loads[:1], []int{70}, []string{"least-requests"}
	}
	for _, load := range loads {
		for _, policy := range policies {
			for _, size := range sizes {
				t.Run(fmt.Sprint(load.name, ", ", policy, ", ", size), func(t *testing.T) {
					comparePart(t, "model: llama-3.1-8b\n"+load.text+", routing: ["+policy+
						"]}\neffort: {requests: 300, most-requests: 1000}\n", size)
				})
			}
		}
	}
}

// comparePart sizes a fleet of about that many replicas by a part of it, and then whole.
func comparePart(t *testing.T, text string, size int) {
	ctx := context.Background()
	one, _ := prepared(t, text)
	if err := one.run(ctx); err != nil { // an answer for one request a second
		t.Fatal(err)
	}
	each, _, err := one.highest(ctx, 0)
	if err != nil || each == 0 {
		t.Fatalf("a replica sustains %g/s, error %v", each, err)
	}
	f := one.Trials.File
	f.Plan.Workload.Rate = scenarios.Rate{
		Value: scenarios.PerSecond(asked.Round(each * float64(size)))}
	options, err := candidate.Options(f)
	testkit.OK(t, err)
	s, err := among(ctx, options, one.Trials)
	testkit.OK(t, err)
	o := s.options[0]
	n, err := s.smallest(ctx, 0, size, func(int, float64) {})
	if err != nil {
		t.Fatal(err)
	}
	if !s.ByPart(o, n) {
		t.Skipf("%d replicas, which are simulated whole", n)
	}
	whole := func(n int) bool {
		_, ok, err := judge.PoolOf(s.Seeds, func(seed uint64) (judge.Trial, int64, error) {
			scenario := o.Scenario(&f.Plan.Menu, n, o.Slow)
			scenario.Seed += seed
			requests := f.Plan.Together(s.Rate, n)
			run, err := s.Trials.Trial(ctx, scenario, s.Rate, requests)
			return run.Under(o.Late), requests, err
		})
		testkit.OK(t, err)
		return ok
	}
	at := func(percent int) int {
		return int(math.Round(float64(n) * (1 + float64(percent)/judge.Finest)))
	}
	percent := 0
	if whole(n) {
		for percent > -6 && whole(at(percent-1)) {
			percent--
		}
	} else {
		for percent++; percent < 5 && !whole(at(percent)); {
			percent++
		}
	}
	t.Logf("%d replicas by a part, %+d%% whole", n, percent)
	if percent < -4 || percent > 2 {
		t.Errorf("%d replicas by a part, %+d%% whole", n, percent)
	}
}
