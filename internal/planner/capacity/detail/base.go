package detail

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
)

// Base describes the base of the fleet; nil where it has none.
func (f *Fleet) Base() *answer.Base {
	o := f.Option
	if o.Standing == nil {
		return nil
	}
	return &answer.Base{Replicas: o.Based(), Terms: o.BaseTerms(&f.Trials.File.Plan.Menu),
		Hourly: float64(o.Base) * o.Standing.Price}
}

// pooled returns the scenario of a fleet with a base in two pools, which differ in their price.
func pooled(o *candidate.Option, s scenarios.Scenario, n int) scenarios.Scenario {
	if o.Standing == nil {
		return s
	}
	stays := s.Hardware
	stays.Price = o.Standing.Asked().Hardware.Price
	s.Replicas = 0
	s.Fleet.Pools = []scenarios.Pool{
		{Name: menu.Spot, Replicas: n - o.Based(), Hardware: s.Hardware},
		{Name: o.Standing.Offer.RentedOn(), Replicas: o.Based(), Hardware: stays}}
	return s
}
