package detail

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
)

// certainty finds out how many replicas of the chosen option would be enough if all predictions
// were right, in steps that double from the chosen number down. It returns nil for fleets that
// start and stop replicas, or lose them.
func (f *Fleet) certainty(ctx context.Context) (*answer.Certainty, error) {
	o, n := f.Option, f.Replicas
	if _, taken := o.Interrupted(); taken || o.Scaled() || f.Goal().Find == menu.FindThroughput {
		return nil, nil
	}
	low, high, near := 0, n, f.Step(o, n) // missed with low, kept with high
	for step := near; high-low > near; step *= 2 {
		middle := (low + high) / 2
		if low == 0 {
			middle = max(1, high-step)
		}
		ok, _, err := f.Keeps(ctx, o, middle, candidate.AsPredicted(), f.Few())
		switch {
		case err != nil:
			return nil, err
		case ok:
			high = middle
		default:
			low = middle
		}
	}
	more := float64(float64(n-high) * o.Price)
	return &answer.Certainty{Predicted: high, Needed: n, Hourly: more}, nil
}
