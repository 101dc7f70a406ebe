package capacity

import (
	"cmp"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
)

// throughputs returns what is known of the fleets that serve most, of each accelerator and
// parallelism the best, up to mostShapes.
func (s *search) throughputs(all []*rateRange) []answer.Throughput {
	var list []answer.Throughput
	seen := map[string]bool{}
	slices.SortStableFunc(all, func(a, b *rateRange) int {
		return cmp.Or(-cmp.Compare(a.Highest(), b.Highest()), cmp.Compare(a.price, b.price),
			cmp.Compare(a.option, b.option))
	})
	for _, r := range all {
		o := s.options[r.option]
		if shape := o.Shape(); seen[shape] || len(list) == mostShapes {
			continue
		} else {
			seen[shape] = true
		}
		n := r.replicas + s.Spare
		list = append(list, answer.Throughput{Label: s.label(r.option), Replicas: n,
			Hourly: o.Cost(n), Watts: float64(n) * o.Watts(),
			Rate: r.Rate(r.Kept), Bound: r.Rate(r.Missed), Grade: o.Grade})
	}
	return list
}
