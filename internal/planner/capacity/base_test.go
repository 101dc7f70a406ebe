package capacity

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/mixed"
	"github.com/llmsim/llmsim/internal/testkit"
)

const spotAndBase = `
model: llama-3.1-8b
workload: {rate: 180/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 99}
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

// Spot replicas with a base are judged as the mixed fleet of both terms is.
func TestABaseIsAMixedFleet(t *testing.T) {
	s, _ := prepared(t, spotAndBase)
	var demand, spot, based *candidate.Option
	for _, o := range s.options {
		switch {
		case !o.IsSpot():
			demand = o
		case o.Standing == nil:
			spot = o
		case o.Based() == 2:
			based = o
		}
	}
	const n = 7
	got, err := s.KeepsOnSpot(t.Context(), based, n, s.Rate, based.Worst(), 0)
	testkit.OK(t, err)
	one, err := s.Alone(t.Context(), based, based.Worst(), 0)
	testkit.OK(t, err)
	m := &mixed.Pair{Mixed: answer.Mixed{Replicas: [2]int{n - 2, 2}},
		Options: [2]*candidate.Option{spot, demand},
		Rates:   [2]float64{one, one}}
	want, err := m.Judge(t.Context(), s.Trials, s.Rate, 0)
	testkit.OK(t, err)
	if math.Abs(got.Kept.Mean-want.Kept.Mean) > 2e-3 {
		t.Errorf("%g keep the SLO, %g as a mixed fleet", got.Kept.Mean, want.Kept.Mean)
	}
	if cost := float64(n-2)*spot.Price + 2*demand.Price; math.Abs(based.Cost(n)-cost) > 1e-9 {
		t.Errorf("$%g/h, want $%g", based.Cost(n), cost)
	}
}
