package judge

import (
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
)

// LightLoad is the share of the bound of the rate at which requests hardly meet each other. An SLO
// that is missed there is missed at any rate.
const LightLoad = 1.0 / 64

// Fewest returns the least number of replicas that could sustain the load, by the bounds.
func (j *Judge) Fewest(o *candidate.Option) int {
	return max(int(o.Least), o.Always(), o.Based()+1, int(math.Ceil(j.Rate/o.Ceiling)))
}

// Most returns the largest number of replicas to consider: as many as there are accelerators for,
// or the number at which the load of each is light.
func (j *Judge) Most(o *candidate.Option) int {
	n := max(o.Based()+1, int(math.Ceil(j.Rate/(o.Ceiling*LightLoad))))
	if j.Rate == 0 {
		n = max(int(float64(o.Least)/LightLoad), j.Trials.File.Plan.Workload.Arrivals.Users)
	}
	return min(n, j.Allowed(o)-j.Spare)
}

// Allowed returns the largest number of replicas or groups of an option, spares included, for which
// accelerators, budget and power suffice; unbounded if nothing limits them.
func (j *Judge) Allowed(o *candidate.Option) int {
	n := candidate.Unbounded
	for _, offer := range o.Offers() {
		if offer.Count == 0 {
			continue
		}
		left := offer.Count - o.Accelerators(offer, o.Based())
		if each := o.Accelerators(offer, o.Based()+1) - o.Accelerators(offer, o.Based()); left < 0 {
			n = 0
		} else if each > 0 {
			n = min(n, o.Based()+left/each)
		}
	}
	g := &j.Trials.File.Plan.Goal
	if g.Budget.Amount > 0 {
		n = min(n, int(min(candidate.Unbounded, o.Affordable(g.Budget.Amount)+1e-9)))
	}
	if g.Power > 0 {
		n = min(n, int(min(candidate.Unbounded, float64(g.Power)/o.Watts()+1e-9)))
	}
	return n
}
