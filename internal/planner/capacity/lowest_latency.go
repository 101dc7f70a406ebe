package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/paired"
	"github.com/llmsim/llmsim/internal/planner/capacity/strategy"
	"github.com/llmsim/llmsim/internal/report"
)

// latencyGoal is the fleet with the lowest latency.
type latencyGoal struct {
	fleetGoal
	points []answer.Point
}

func (g *latencyGoal) find(ctx context.Context, s *search) (err error) {
	g.points, err = s.lowestLatency(ctx)
	if err == nil && s.best >= 0 && s.Trials.File.Plan.Tunes() {
		g.points, err = s.tuneLatency(ctx, g.points)
	}
	return err
}

func (*latencyGoal) rules(*search) []string {
	return []string{"the largest fleet of an option is its fastest"}
}

func (g *latencyGoal) show(_ context.Context, _ *search, a *answer.Answer) error {
	a.Points = g.points
	return nil
}

// lowestLatency finds the fleet with the lowest latency among the largest of each option, in the
// order of their bounds.
func (s *search) lowestLatency(ctx context.Context) ([]answer.Point, error) {
	s.best, s.outcomes = -1, make([]outcome, len(s.options))
	c := paired.New(s.Judge)
	var list []paired.Fleet
	for _, r := range s.rateRanges() {
		if r.replicas < s.Fewest(s.options[r.option]) {
			s.outcomes[r.option] = outcome{kind: beyond}
			continue
		}
		f, err := c.Bounded(s.options[r.option], r.replicas)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b paired.Fleet) int {
		return cmp.Compare(a.Latency,
			b.Latency)
	})
	l := &latencies{search: s, c: c}
	l.Open, l.AtOnce, l.MayWin = list, atOnce, l.mayWin
	if err := strategy.Search(ctx, l); err != nil {
		return nil, err
	}
	if best := l.best; best != nil {
		s.best = best.Option
		s.outcomes[s.best] = outcome{kind: chosen, replicas: best.Replicas - s.Spare}
	}
	slices.SortStableFunc(l.all, func(a, b answer.Point) int {
		return cmp.Compare(a.Latency, b.Latency)
	})
	return l.all, nil
}

// latencies is the largest fleets of options, in the order of the least latency that they could
// have.
type latencies struct {
	*search
	strategy.Ordered[paired.Fleet]
	c    *paired.Comparison
	all  []answer.Point // of the fleets that keep the SLO
	best *answer.Point
}

// mayWin reports whether a fleet could have the lowest latency, and notes where it could not.
func (l *latencies) mayWin(f paired.Fleet) bool {
	if l.best == nil || f.Latency < l.best.Latency {
		return true
	}
	l.outcomes[f.Option.Index].words = fmt.Sprintf("its bound is %s ms", report.Figure(f.Latency))
	return false
}

// Try simulates fleets.
func (l *latencies) Try(ctx context.Context, some []paired.Fleet) error {
	kept, err := l.points(ctx, l.c, some)
	l.all = append(l.all, kept...)
	for i := range kept {
		if p, best := &kept[i], l.best; best == nil || cmp.Or(cmp.Compare(p.Latency, best.Latency),
			cmp.Compare(p.Hourly, best.Hourly), cmp.Compare(p.Option, best.Option)) < 0 {
			l.best = p
		}
	}
	return err
}

// tuneLatency tries settings that the menu leaves to the engine's defaults in the fleets with the
// lowest latency, and makes the fleet the answer whose latency is lower. It returns the points, the
// best first.
func (s *search) tuneLatency(ctx context.Context, all []answer.Point) ([]answer.Point, error) {
	c := paired.New(s.Judge)
	s.tuned = &answer.Tuned{Without: all[0].Label, WithoutReplicas: all[0].Replicas,
		WithoutHourly: all[0].Hourly, WithoutLatency: all[0].Latency}
	var bases []int
	for _, p := range all[:min(len(all), mostTuned)] {
		bases = append(bases, p.Option)
	}
	err := s.inTurns(ctx, bases, s.changedAny, func(fresh []int, left func() bool) ([]int, error) {
		var fleets []paired.Fleet
		for _, i := range fresh {
			if n := s.Allowed(s.options[i]) - s.Spare; n >= s.Fewest(s.options[i]) {
				fleets = append(fleets, paired.Fleet{Option: s.options[i], Replicas: n})
			} else {
				s.outcomes[i] = outcome{kind: beyond}
			}
		}
		s.tuned.Tried += len(fleets)
		kept, err := s.points(ctx, c, fleets)
		if err != nil {
			return nil, err
		}
		before := s.best
		for _, p := range kept {
			if p.Latency < all[0].Latency {
				all = append([]answer.Point{p}, all...)
				s.outcomes[s.best].kind = simulated
				s.best = p.Option
				s.outcomes[s.best] = outcome{kind: chosen, replicas: p.Replicas - s.Spare}
			}
		}
		if s.best == before || !left() {
			return nil, nil
		}
		return []int{s.best}, nil
	})
	return all, err
}
