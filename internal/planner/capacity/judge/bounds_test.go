package judge

import (
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
)

// Accelerators, budget and power bound the number of replicas, whichever suffices for fewest.
// Spares are among them, and the bound of the rate says how few may serve.
func TestHowManyReplicasThereMayBe(t *testing.T) {
	file := &asked.File{}
	offer := &asked.Offer{}
	o := &candidate.Option{Parts: &candidate.Parts{Prefill: &candidate.Server{Offer: offer,
		GPUs: 2, Peak: 500}}, Prefills: 1, Price: 3, Ceiling: 10, Least: 1}
	j := &Judge{Rate: 95, Spare: 1, Trials: &Trials{File: file}}
	if got := j.Allowed(o); got != candidate.Unbounded {
		t.Errorf("nothing bounds the fleet, and %d are allowed", got)
	}
	if few, most := j.Fewest(o), j.Most(o); few != 10 || most != 608 {
		t.Errorf("%d to %d replicas for 95/s, want 10 and 64 times the share", few, most)
	}
	for _, c := range []struct {
		count         int
		budget, power float64
		want          int
	}{
		{40, 0, 0, 20}, {41, 0, 0, 20}, {1, 0, 0, 0}, {40, 30, 0, 10}, {40, 32.9, 0, 10},
		{40, 300, 0, 20}, {0, 3, 0, 1}, {40, 0, 2500, 5}, {0, 30, 2499, 4}, {0, 0, 1, 0},
	} {
		offer.Count = c.count
		file.Plan.Goal.Budget.Amount, file.Plan.Goal.Power = c.budget, asked.Watts(c.power)
		if got := j.Allowed(o); got != c.want || j.Most(o) != min(608, c.want-1) {
			t.Errorf("%+v: %d allowed, %d beside the spare", c, got, j.Most(o))
		}
	}
	offer.Count, file.Plan.Goal = 7, asked.Goal{}
	if o.Prefill.GPUs = 1; j.Allowed(o) != 7 {
		t.Errorf("%d replicas of one of seven accelerators", j.Allowed(o))
	}
	o.Prefill.GPUs = 2
	// With a base of three on demand, of which there are too few or enough.
	base := &asked.Offer{Count: 2}
	o.Base, o.Standing = 3, &candidate.Server{Offer: base, GPUs: 1}
	offer.Count = 40
	if got := j.Allowed(o); got != 0 {
		t.Errorf("two of three for the base: %d replicas", got)
	}
	if base.Count = 3; j.Allowed(o) != 23 {
		t.Errorf("a base of three and 40 accelerators in pairs: %d replicas", j.Allowed(o))
	}
	if j.Rate = 0.1; j.Fewest(o) != 4 {
		t.Errorf("at least %d replicas, want one beside the base", j.Fewest(o))
	}
}
