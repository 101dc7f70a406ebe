package judge

import (
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
)

// LightLoad is the share of the bound of the rate at which requests hardly meet each other. An SLO
// that is missed there is missed at any rate.
const LightLoad = 1.0 / 64

// Fewest returns the least number of replicas that could sustain the load, by the bounds.
func (j *Judge) Fewest(o *candidate.Option) int {
	return max(int(o.Least), o.Always(), o.Based()+1, int(math.Ceil(j.Rate/o.Ceiling)))
}

// Most returns the largest number of replicas to consider: the number that there are accelerators
// for, or the number at which the load of each is light.
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

// Grid is the number of rates at which the highest that a fleet sustains is looked for, from its
// bound down to the lightest load: 3 % apart. All searches use the same rates, so that what one
// finds does not depend on what others are compared with.
const Grid = 128

// RateGrid is what is known of the highest rate that a fleet sustains.
type RateGrid struct {
	// Kept and missed are places in the grid: one replica sustains its share of the rate at kept,
	// and one replica or the fleet does not sustain that at missed. Place 0 is the bound, place
	// grid+1 no load at all.
	Kept, Missed int
	Ceiling      float64 // of the fleet, in requests/s
}

// Rate returns the rate of the fleet at a place in the grid.
func (r *RateGrid) Rate(place int) float64 {
	if place > Grid {
		return 0
	}
	return asked.Round(r.Ceiling * math.Pow(LightLoad, float64(place)/Grid))
}

// Highest returns the highest rate that the fleet may sustain, as far as is known.
func (r *RateGrid) Highest() float64 { return r.Rate(r.Missed + 1) }

// Next returns the place in the grid to simulate: the middle of what is not known, but no rate
// below served, which another fleet is known to serve; a fleet that misses that has lost. It is
// r.missed where all that is not known is below served.
func (r *RateGrid) Next(served float64) int {
	place := (r.Kept + r.Missed) / 2
	for place > r.Missed && r.Rate(place) < served {
		place--
	}
	return place
}

// Done reports whether the highest rate is known.
func (r *RateGrid) Done() bool { return r.Kept-r.Missed == 1 }

// Above returns the place in the grid of the lowest rate above another; 0 where that is not below
// the bound.
func (r *RateGrid) Above(rate float64) int {
	place := Grid
	for place > 0 && r.Rate(place) <= rate {
		place--
	}
	return place
}
