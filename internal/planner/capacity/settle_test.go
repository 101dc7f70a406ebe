package capacity

import (
	"context"
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
