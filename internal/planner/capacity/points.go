package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/capacity/paired"
)

// points simulates fleets at the same time, notes what became of their options, and returns the
// ones that keep the SLO.
func (s *search) points(ctx context.Context, c *paired.Comparison,
	list []paired.Fleet) ([]answer.Point, error) {
	for k := range list {
		list[k].Known = list[k].Option.Index == s.best &&
			list[k].Replicas == s.outcomes[s.best].replicas
	}
	results, err := c.Simulate(ctx, list)
	if err != nil {
		return nil, err
	}
	var kept []answer.Point
	for k := range results {
		s.notePoint(list[k], &results[k])
		if results[k].Kept {
			kept = append(kept, results[k].Point)
		}
	}
	return kept, nil
}

// notePoint records the outcome of an option of which a fleet was simulated.
func (s *search) notePoint(f paired.Fleet, o *paired.Result) {
	outcome := &s.outcomes[f.Option.Index]
	outcome.closest = max(outcome.closest, o.Reduced.Kept.Mean)
	switch {
	case outcome.kind == chosen:
	case o.Failure != "":
		outcome.kind, outcome.words = broken, o.Failure
	case o.Kept:
		outcome.kind, outcome.words = simulated, ""
	case outcome.kind != simulated:
		v := oracle.Verdict{Rate: s.Rate / float64(f.Replicas), Trial: o.Reduced}
		outcome.kind, outcome.words = simulated, s.whyLost(f.Option, f.Replicas, v)
	}
}
