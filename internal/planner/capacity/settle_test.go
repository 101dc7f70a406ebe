package capacity

import (
	"context"
	"fmt"
	"testing"
)

// No option keeps the SLO as a fleet that costs less than the answer, also where the fleet that
// seemed cheapest by one replica turned out to need more of them.
func TestNoFleetCostsLess(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates fleets of every option")
	}
	s, _ := prepared(t, `
model: llama-3.1-70b
workload: {rate: 20/s, prompt: {distribution: lognormal, mean: 1000, cv: 0.8, max: 8000}, output: {distribution: lognormal, mean: 300, cv: 0.6, max: 2000}}
slo: {ttft: {p99: 2s}, tpot: {p99: 60ms}}
menu: {hardware: [h100-sxm, h200-sxm, b200-sxm], tensor: [1, 2, 4], weights: [fp8]}
`)
	if err := s.answer(context.Background()); err != nil || s.best < 0 {
		t.Fatalf("no answer: %v", err)
	}
	for i, o := range s.options {
		n := s.worth(i)
		if s.fates[i].kind == unfit || i == s.best || n < s.fewest(o) {
			continue
		}
		ok, kept, err := s.keeps(context.Background(), o, n, s.pessimism(i), s.seeds)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			t.Errorf("%d of %s keep the SLO in %.4f of the requests for less than %d of %s", n,
				s.label(i), kept, s.size(), s.label(s.best))
		}
	}
}

// A large fleet has no replica more than it needs, however far that is from what one replica
// suggests.
func TestLargeFleetsAreTheSmallest(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 1000/s, prompt: 300, output: 20}
slo: {ttft: 200ms, tpot: 60ms}
menu: {hardware: [l40s], tensor: [1]}
effort: {requests: 300, most-requests: 1000}
`)
	ctx := context.Background()
	if err := s.run(ctx); err != nil {
		t.Fatal(err)
	}
	suggested := s.fates[s.best].replicas
	if ok, err := s.settle(ctx); !ok || err != nil {
		t.Fatal(ok, err)
	}
	n := s.fates[s.best].replicas
	t.Logf("%d replicas, one suggests %d", n, suggested)
	for _, c := range []struct {
		n    int
		want bool
	}{{n, true}, {n - 1, false}} {
		ok, kept, err := s.keeps(ctx, s.chosen(), c.n, s.pessimism(s.best), s.seeds)
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
	const text = `
model: llama-3.1-8b
workload: {rate: 12/s, prompt: 1000, output: 200}
slo: {ttft: 1s, tpot: 50ms}
menu: {hardware: [%s], tensor: [1]}
effort: {requests: 300, most-requests: 2000}
`
	sizes := map[string]int{}
	for _, hardware := range []string{"l40s", "h100-sxm, l40s"} {
		f, err := Parse("plan.yaml", fmt.Appendf(nil, text, hardware))
		if err != nil {
			t.Fatal(err)
		}
		answers, err := f.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
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
