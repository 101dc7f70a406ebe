package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// goalPlans are menus for all goals: of replicas that do both, and of groups.
func goalPlans(goal string) []string {
	const effort = "\neffort: {requests: 100, most-requests: 200}\n"
	return []string{
		`
model: llama-3.1-8b
workload: {rate: 30/s, prompt: {distribution: lognormal, mean: 500, cv: 0.7, max: 4000}, output: {distribution: exponential, mean: 60, max: 400}}
slo: {ttft: 800ms, tpot: 40ms, percentile: 95}
goal: ` + goal + `
menu:
  hardware: [l4, l40s, a100-80gb-sxm, {accelerator: h100-sxm, count: 4}]
  tensor: [1, 2]
  batching: [{max-sequences: 32}, {token-budget: 2048}]
` + effort, `
model: qwen2.5-14b
workload: {rate: 6/s, prompt: 1500, output: 60}
slo: {ttft: 1s, tpot: 25ms, percentile: 95}
goal: ` + goal + `
menu:
  hardware: [h100-sxm, a100-80gb-sxm, l40s]
  tensor: [1, 2]
  disaggregated: [{prefill: 1, decode: 1..2}]
fleet: {spare: 1}
` + effort,
	}
}

// A plan that asks for the lowest latency is answered with a front, which names its fastest fleet:
// no largest fleet of an option within the budget is faster.
func TestTheFrontHasTheLowestLatency(t *testing.T) {
	for k, text := range goalPlans("{find: latency, budget: $12/h, measure: mean_ttft_ms}")[:1] {
		s, trials := prepared(t, text)
		f := trials.File
		g := goalOf(s).(*frontGoal)
		testkit.OK(t, s.cheapest(t.Context()))
		testkit.OK(t, g.front(t.Context()))
		a := &answer.Answer{Goal: f.Plan.Goal, Warnings: f.Plan.Warnings()}
		testkit.OK(t, g.show(t.Context(), a))
		fastest := slices.MinFunc(a.Front(), func(p, q answer.Point) int {
			return cmp.Compare(p.Latency, q.Latency)
		})
		if len(a.Warnings) != 2 || !strings.Contains(a.Warnings[1], fastest.Label) {
			t.Errorf("plan %d: warnings %q, the fastest is %s", k, a.Warnings, fastest.Label)
		}
		for _, o := range s.options {
			if o.Unfit() != "" || s.Allowed(o)-s.Spare < s.Fewest(o) {
				continue
			}
			for _, p := range simulatedFleet(t, g, o, s.Allowed(o)-s.Spare) {
				if p.Latency < fastest.Latency {
					t.Errorf("plan %d: %s takes %g ms, the fastest of the front %g", k, p.Label,
						p.Latency, fastest.Latency)
				}
			}
		}
	}
}

// Settings beside the engine's defaults lower a latency or the energy of some fleet of a front, and
// the answer is on the front that they make.
func TestFrontIsTuned(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 30/s, prompt: {distribution: lognormal, mean: 1500, cv: 0.7, max: 6000}, output: {distribution: exponential, mean: 60, max: 400}}
slo: {ttft: 800ms, tpot: 60ms, percentile: 95}
goal: {find: front, budget: $9/h, measure: p99_tpot_ms}
menu: {hardware: [h100-sxm], tensor: [1]}
effort: {requests: 100, most-requests: 200}
`)
	testkit.OK(t, s.answer(t.Context()))
	g := goalOf(s).(*frontGoal)
	testkit.OK(t, g.front(t.Context()))
	testkit.OK(t, g.tuneFront(t.Context()))
	tuned, own := 0, false
	for _, p := range (&answer.Answer{Points: g.all}).Front() {
		own = own || p.Option == s.best && p.Replicas == s.size()
		if s.options[p.Option].Settings() != nil {
			tuned++
		}
	}
	if tuned == 0 || !own || s.tuned.Tried == 0 {
		t.Errorf("%d tuned fleets, the answer among the front: %t; %+v", tuned, own, s.tuned)
	}
}

// simulatedFleet simulates a fleet, and checks that its bounds hold.
func simulatedFleet(t *testing.T, g *frontGoal, o *candidate.Option,
	replicas int) []answer.Point {
	t.Helper()
	f, err := g.comparison.Bounded(o, replicas)
	testkit.OK(t, err)
	points, err := g.points(context.Background(), []detail.Rival{f})
	testkit.OK(t, err)
	for _, p := range points {
		if p.Latency < f.Latency || p.Energy < f.Energy || f.Latency == 0 || f.Energy == 0 {
			t.Errorf("%d of %s: %g ms and %g Wh, bounds %g and %g", p.Replicas, p.Label,
				p.Latency, p.Energy, f.Latency, f.Energy)
		}
	}
	return points
}

// No fleet of a front beats another; each fleet that was simulated is on the front or beaten by one
// of it; the cheapest fleet is on it; and it is the front of all fleets of the menu.
func TestFront(t *testing.T) {
	simulated, every := 0, 0
	plans := goalPlans("front")
	for k, text := range plans[:2] {
		s, _ := prepared(t, text)
		s.Goal().Budget = scenarios.Price{Amount: []float64{10, 40}[k]}
		if err := s.answer(context.Background()); err != nil || s.best < 0 {
			t.Fatal("no answer", err)
		}
		g := goalOf(s).(*frontGoal)
		testkit.OK(t, g.front(context.Background()))
		found := g.all
		front := (&answer.Answer{Points: found}).Front()
		for _, p := range found {
			beaten := 0
			for i := range front {
				if front[i].Dominates(&p) {
					beaten++
				}
			}
			if p.Front != (beaten == 0) {
				t.Errorf("plan %d: %+v is beaten by %d of the front", k, p, beaten)
			}
		}
		if front[0].Hourly != s.cost() {
			t.Errorf("plan %d: the front begins with $%g/h, the cheapest fleet costs $%g/h", k,
				front[0].Hourly, s.cost())
		}
		list, err := g.frontFleets()
		testkit.OK(t, err)
		var all []answer.Point
		for _, f := range list {
			all = append(all, simulatedFleet(t, g, f.Option, f.Replicas)...)
		}
		markFront(all)
		exhaustive := (&answer.Answer{Points: all}).Front()
		if got, want := fmt.Sprint(front), fmt.Sprint(exhaustive); got != want {
			t.Errorf("plan %d: front %s\nof all fleets %s", k, got, want)
		}
		simulated += len(found)
		every += len(all)
	}
	if simulated >= every {
		t.Errorf("all of %d fleets simulated: nothing is left out by bounds", every)
	}
}

// Goals that contradict the rest of a plan are errors that name what is possible.
func TestBadGoals(t *testing.T) {
	const good = "model: llama-3.1-8b\nworkload: {rate: 2/s}\nmenu: {hardware: [h100-sxm, l4]}\n"
	for text, want := range map[string]string{
		"goal: cheap":                        `did you mean cheapest`,
		"goal: {budget: $3/h}":               "goal.budget",
		"goal: {find: front, budgets: $3/h}": "did you mean budget",
		"goal: throughput":                   "nothing bounds the fleet",
		"goal: {find: latency, budget: 3}":   "a price an hour",
		"goal: {find: latency, power: 3}":    "a power",
		"goal: {find: throughput, budget: $9/h, measure: p99_ttft_ms}": "goal.measure",
		"goal: {find: front}\nfleet: {growth: 2}":                      "cheapest fleet only",
		"goal: {find: throughput, budget: $0.1/h}":                     "1 × l4 for $",
		"goal: {find: front, power: 50W}":                              "1 × l4, which draw",
		"goal: {find: latency, budget: $0.1/h}\nfleet: " +
			"{spare: 1}": "with its spares is of 1 × l4",
	} {
		f, err := asked.Parse("bad.yaml", []byte(good+text))
		if err == nil {
			var s *search
			if s, err = newSearch(t.Context(), f, testQueue(t), Options{}); err == nil {
				err = s.possible()
			}
		}
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}
