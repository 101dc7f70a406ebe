package capacity

import (
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
)

// lightLoad is the share of the bound of the rate at which requests hardly meet each other. An SLO
// that is missed there is missed at any rate.
const lightLoad = 1.0 / 64

// fewest returns the least number of replicas that could sustain the load, by the bounds.
func (s *judge) fewest(o *candidate.Option) int {
	return max(1, int(o.Least), o.Always(), o.Based()+1, int(math.Ceil(s.rate/o.Ceiling)))
}

// most returns the largest number of replicas to consider: as many as there are accelerators for,
// or the number at which the load of each is light.
func (s *judge) most(o *candidate.Option) int {
	n := max(o.Based()+1, int(math.Ceil(s.rate/(o.Ceiling*lightLoad))))
	if s.rate == 0 {
		n = max(int(float64(o.Least)/lightLoad), s.trials.File.Plan.Workload.Arrivals.Users)
	}
	return min(n, s.allowed(o)-s.spare)
}

// allowed returns the largest number of replicas or groups of an option, spares included, for which
// accelerators, budget and power suffice; unbounded if nothing limits them.
func (s *judge) allowed(o *candidate.Option) int {
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
	g := &s.trials.File.Plan.Goal
	if g.Budget.Amount > 0 {
		n = min(n, int(min(candidate.Unbounded, o.Affordable(g.Budget.Amount)+1e-9)))
	}
	if g.Power > 0 {
		n = min(n, int(min(candidate.Unbounded, float64(g.Power)/o.Watts()+1e-9)))
	}
	return n
}
