package capacity

import (
	"cmp"
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
)

// mostMeasured is how many options are asked whether measuring them is worth it: the nearest to the
// answer.
const mostMeasured = 2

// measurements returns what is worth measuring of the answer and of the options that may be
// cheaper, the nearest of each shape: an option lost where too few replicas keep the SLO if its
// steps are slow, and it may win if they are not.
func (s *cheapestGoal) measurements(ctx context.Context) ([]answer.Measurement, error) {
	leaders, _ := s.leaders()
	s.sortByNearness(leaders)
	var list []answer.Measurement
	tried := 0
	for _, i := range leaders {
		o, kind := s.options[i], s.outcomes[i].kind
		most := s.mostWorthwhile(i)
		for most > 0 && o.Cost(most+s.Spare) >= s.cost()*(1-1e-9) {
			most-- // as cheap, and better known
		}
		if i == s.best { // whose number is known to a step
			most = min(most, s.outcomes[i].replicas-s.Step(o, s.outcomes[i].replicas))
		}
		if kind != chosen && kind != simulated && kind != costsMore || most <= o.Based() ||
			tried == mostMeasured {
			continue
		}
		if tried++; !s.Trials.Shard.Mine(i) {
			continue
		}
		m, err := s.fleet().Measure(ctx, o, most)
		if err != nil {
			return nil, err
		}
		if m != nil {
			list = append(list, *m)
		}
	}
	slices.SortStableFunc(list, func(a, b answer.Measurement) int {
		return -cmp.Compare(a.Saving, b.Saving)
	})
	return list, nil
}
