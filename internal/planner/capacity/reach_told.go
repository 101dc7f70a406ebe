package capacity

import (
	"cmp"
	"slices"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Reach says how many requests the largest fleet of an option serves, as far as is known.
type Reach struct {
	Label    string  `json:"label"`
	Replicas int     `json:"replicas"` // with the spares
	Hourly   float64 `json:"dollars_per_hour"`
	Watts    float64 `json:"peak_watts"`
	// Rate is a rate in requests/s that the fleet serves, and Bound a rate that it does not serve.
	// For the answer both hold for the whole fleet. For other fleets with equal replicas, they
	// follow from one replica.
	Rate  float64 `json:"rate"`
	Bound float64 `json:"rate_bound"`
	// Grade says what the predictions rest on.
	Grade evidence.Grade `json:"grade"`
}

// told returns what is known of the fleets that serve most, of each accelerator and parallelism
// the best, up to mostShapes.
func (s *search) told(all []*reach) []Reach {
	var list []Reach
	seen := map[string]bool{}
	slices.SortStableFunc(all, func(a, b *reach) int {
		return cmp.Or(-cmp.Compare(a.highest(), b.highest()), cmp.Compare(a.price, b.price),
			cmp.Compare(a.option, b.option))
	})
	for _, r := range all {
		o := s.options[r.option]
		if shape := o.shape(); seen[shape] || len(list) == mostShapes {
			continue
		} else {
			seen[shape] = true
		}
		n := r.replicas + s.spare
		list = append(list, Reach{Label: s.label(r.option), Replicas: n,
			Hourly: float64(n) * o.price, Watts: float64(n) * o.watts(),
			Rate: r.rate(r.kept), Bound: r.rate(r.missed), Grade: o.grade})
	}
	return list
}
