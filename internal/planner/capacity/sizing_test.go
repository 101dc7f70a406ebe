package capacity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// No option keeps the SLO as a fleet that costs less than the answer, also where the fleet that
// seemed cheapest by one replica turned out to need more of them.
func TestNoFleetCostsLess(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates fleets of every option")
	}
	noneCostsLess(t, `
model: llama-3.1-70b
workload: {rate: 20/s, prompt: {distribution: lognormal, mean: 1000, cv: 0.8, max: 8000}, output: {distribution: lognormal, mean: 300, cv: 0.6, max: 2000}}
slo: {ttft: {p99: 2s}, tpot: {p99: 60ms}}
menu: {hardware: [h100-sxm, h200-sxm, b200-sxm], tensor: [1, 2, 4], weights: [fp8]}
`)
	for seed := range max(2, *drawn) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			noneCostsLess(t, drawnPlan(rand.New(rand.NewPCG(seed, 7))))
		})
	}
}

// drawnPlan draws a small menu and a load that replicas share: few or many of them are needed.
func drawnPlan(rng *rand.Rand) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	return fmt.Sprintf(`
model: llama-3.1-8b
workload: {rate: %s, prompt: {distribution: lognormal, mean: %s, cv: %s, max: 6000}, output: {distribution: exponential, mean: %s, max: 800}}
slo: {ttft: %s, tpot: %s, percentile: %s}
menu:
  hardware: [l40s, %s, h100-sxm]
  tensor: [1, 2]
  batching: [{max-sequences: %s}, {token-budget: 2048}]
%s
fleet: {spare: %s}
seed: %d
effort: {requests: 400, most-requests: 1600}
`, pick("8/s", "20/s", "60/s"), pick("200", "600", "1500"), pick("0.7", "1.5"),
		pick("20", "60", "150"), pick("300ms", "800ms", "2s"), pick("30ms", "60ms"),
		pick("90", "95", "99"), pick("a40", "a100-80gb-sxm", "l4"), pick("8", "32"),
		pick("", "  routing: [least-requests]"), pick("0", "1"), rng.IntN(1000))
}

// noneCostsLess answers a plan, and tries each other option as the largest fleet that costs less.
func noneCostsLess(t *testing.T, text string) {
	t.Helper()
	s, _ := prepared(t, text)
	testkit.OK(t, s.answer(context.Background()))
	if s.best < 0 {
		t.Skip("no fleet keeps the SLO")
	}
	for i, o := range s.options {
		n := s.mostWorthwhile(i)
		if s.outcomes[i].kind == unfit || i == s.best || n < s.Fewest(o) {
			continue
		}
		ok, kept, err := s.Keeps(context.Background(), o, n, s.options[i].Worst(), s.Seeds)
		testkit.OK(t, err)
		if ok {
			t.Errorf("%d of %s keep the SLO in %.4f of the requests for less than %d of %s:%s", n,
				s.label(i), kept, s.size(), s.label(s.best), text)
		}
	}
}

// A large fleet has no replica more than it needs, however far that is from what one replica
// suggests.
func TestLargeFleetsAreTheSmallest(t *testing.T) {
	testkit.Dear(t)
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 1000/s, prompt: 300, output: 20}
slo: {ttft: 250ms, tpot: 60ms}
menu: {hardware: [l40s], tensor: [1]}
effort: {requests: 300, most-requests: 1000}
`)
	ctx := context.Background()
	testkit.OK(t, s.run(ctx))
	suggested := s.outcomes[s.best].replicas
	if ok, err := s.sizeFleet(ctx); !ok || err != nil {
		t.Fatal(ok, err)
	}
	n := s.outcomes[s.best].replicas
	t.Logf("%d replicas, one suggests %d", n, suggested)
	for _, c := range []struct {
		n    int
		want bool
	}{{n, true}, {n - 1, false}} {
		ok, kept, err := s.Keeps(ctx, s.chosen(), c.n, s.options[s.best].Worst(), s.Seeds)
		if err != nil || ok != c.want {
			t.Errorf("%d replicas keep the SLO of %g: %v, want %v (%v)", c.n, kept, ok, c.want, err)
		}
	}
	if suggested-n <= 8 {
		t.Errorf("%d replicas instead of %d are no test of larger steps", n, suggested)
	}
}

// A rival of the answer is sized as a fleet too, as it is where it is asked for alone.
func TestRivalsAreFleets(t *testing.T) {
	testkit.Dear(t)
	const text = `
model: llama-3.1-8b
workload: {rate: 12/s, prompt: 1000, output: 200}
slo: {ttft: 1s, tpot: 80ms}
menu: {hardware: [%s], tensor: [1], tune: none}
effort: {requests: 300, most-requests: 2000}
`
	sizes := map[string]int{}
	for _, hardware := range []string{"l40s", "h100-sxm, l40s"} {
		f, err := asked.Parse("plan.yaml", fmt.Appendf(nil, text, hardware))
		testkit.OK(t, err)
		answers, err := Solve(context.Background(), f, Options{})
		testkit.OK(t, err)
		for _, sh := range answers.Models[0].Shapes {
			if sh.Accelerator == "l40s" {
				sizes[hardware] = sh.Replicas
			}
		}
	}
	if sizes["l40s"] == 0 || sizes["l40s"] != sizes["h100-sxm, l40s"] {
		t.Errorf("replicas of an L40S, alone on the menu and beside the answer: %v", sizes)
	}
}

// No fleet has more replicas than there are accelerators, also where other fleets were found to
// need more than one replica of them suggests.
func TestFleetsKeepToTheStock(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 20/s, prompt: 800, output: 100}
slo: {ttft: 1s, tpot: 50ms}
menu: {hardware: [{accelerator: l40s, count: 3}], tensor: [1]}
effort: {requests: 300, most-requests: 600}
`)
	testkit.OK(t, s.run(t.Context()))
	s.replicaShare = 3
	n, err := s.smallest(t.Context(), 0, 3, func(n int, _ float64) {
		if n > 3 {
			t.Errorf("%d replicas were simulated, and there are 3 accelerators", n)
		}
	})
	if err != nil || n > 3 {
		t.Errorf("%d replicas, %v", n, err)
	}
}
