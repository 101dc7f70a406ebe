package capacity

import (
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
)

// grid is the number of rates at which the highest that a fleet sustains is looked for, from its
// bound down to the lightest load: 3 % apart. All searches use the same rates, so that what one
// finds does not depend on what others are compared with.
const grid = 128

// rateGrid is what is known of the highest rate that a fleet sustains.
type rateGrid struct {
	// kept and missed are places in the grid: one replica sustains its share of the rate at kept,
	// and one replica or the fleet does not sustain that at missed. Place 0 is the bound, place
	// grid+1 no load at all.
	kept, missed int
	ceiling      float64 // of the fleet, in requests/s
}

// rate returns the rate of the fleet at a place in the grid.
func (r *rateGrid) rate(place int) float64 {
	if place > grid {
		return 0
	}
	return menu.Round(r.ceiling * math.Pow(lightLoad, float64(place)/grid))
}

// highest returns the highest rate that the fleet may sustain, as far as is known.
func (r *rateGrid) highest() float64 { return r.rate(r.missed + 1) }

// next returns the place in the grid to simulate: the middle of what is not known, but no rate
// below served, which another fleet is known to serve; a fleet that misses that has lost. It is
// r.missed where all that is not known is below served.
func (r *rateGrid) next(served float64) int {
	place := (r.kept + r.missed) / 2
	for place > r.missed && r.rate(place) < served {
		place--
	}
	return place
}

// done reports whether the highest rate is known.
func (r *rateGrid) done() bool { return r.kept-r.missed == 1 }

// above returns the place in the grid of the lowest rate above another; 0 where that is not below
// the bound.
func (r *rateGrid) above(rate float64) int {
	place := grid
	for place > 0 && r.rate(place) <= rate {
		place--
	}
	return place
}
