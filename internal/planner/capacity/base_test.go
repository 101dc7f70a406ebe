package capacity

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

const spotAndBase = `
model: llama-3.1-8b
workload: {rate: 145/s, prompt: 300, output: 40}
slo: {ttft: 1400ms, tpot: 70ms, percentile: 99}
menu:
  hardware:
    - {accelerator: l40s, term: on-demand, price: $1.5/h}
    - {accelerator: l40s, term: spot, price: $1/h, interruptions: 0.1/h, together: 0.05,
       notice: 2m, return: 15m}
  tensor: [1]
  tune: none
effort: {requests: 200, most-requests: 400}
`

// The answer of spot replicas with a base is the cheapest of all fleets of either term or both that
// keep the SLO, when each is judged by itself.
func TestTheBaseIsTheCheapest(t *testing.T) {
	s, _ := prepared(t, spotAndBase)
	testkit.OK(t, s.answer(t.Context()))
	if s.best < 0 || s.chosen().Standing == nil {
		t.Fatalf("the answer is %s, want one with a base", s.label(s.best))
	}
	file, err := s.fleet().WholeFile(200)
	testkit.OK(t, err)
	replicas, hourly := 0, 0.0
	for _, p := range file.Scenario.Fleet.Pools {
		replicas += p.Replicas
		hourly += float64(p.Replicas) * p.Hardware.Price.Amount
	}
	base := s.fleet().Base()
	if replicas != s.size() || math.Abs(hourly-s.cost()) > 1e-9 ||
		file.Scenario.Fleet.Pools[1].Replicas != base.Replicas ||
		base.Terms != "on-demand at $1.5/h" {
		t.Errorf("%+v, and the base %+v, of %d replicas for $%g/h", file.Scenario.Fleet.Pools, base,
			s.size(), s.cost())
	}
	for i, o := range s.options {
		for n := o.Based() + 1; o.Cost(n) < s.cost()*(1-1e-9); n++ {
			kept, share, err := s.Keeps(t.Context(), o, n, o.Worst(), s.Seeds)
			testkit.OK(t, err)
			if kept {
				t.Errorf("%d of %s for $%g/h keep the SLO (%g), and the answer costs $%g/h", n,
					s.label(i), o.Cost(n), share, s.cost())
			}
		}
	}
}
