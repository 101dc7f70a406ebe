package detail

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/strategy"
)

// certainty finds out how many replicas of the chosen option would be enough if all predictions
// were right, in steps that double from the chosen number down. It returns nil for fleets that
// start and stop replicas, or lose them.
func (f *Fleet) certainty(ctx context.Context) (*answer.Certainty, error) {
	o, n := f.Option, f.Replicas
	if _, taken := o.Interrupted(); taken || o.Scaled() || f.Goal().Find == menu.FindThroughput {
		return nil, nil
	}
	near := f.Step(o, n)
	l := strategy.Least{First: max(1, n-near), Most: n - 1, High: n, Step: 2 * near, Near: near}
	high, err := l.Find(func(n int) (bool, error) {
		ok, _, err := f.Keeps(ctx, o, n, candidate.AsPredicted(), f.Few())
		return ok, err
	})
	if err != nil {
		return nil, err
	}
	more := float64(float64(n-high) * o.Price)
	return &answer.Certainty{Predicted: high, Needed: n, Hourly: more}, nil
}
