package judge

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// Charge returns how many replicas or groups of an option run on average, spares included, with
// steps as predicted: the mean of as many seeds as a figure that is shown. Of a fixed number it is
// that number.
func (j *Judge) Charge(ctx context.Context, o *candidate.Option, n int) (float64, error) {
	if !o.Scaled() {
		return float64(n + j.Spare), nil
	}
	seeds := j.Trials.File.Plan.Seeds(FewSeeds)
	sum, _, err := j.MeanRunning(ctx, o, n, seeds)
	return sum / float64(seeds), err
}

// MeanRunning returns how many replicas or groups of a scaled option run on average, spares
// included, with steps as predicted: the sum of some seeds; and whether some of them never run.
func (j *Judge) MeanRunning(ctx context.Context, o *candidate.Option, n, seeds int) (sum float64,
	unused bool,
	err error) {
	paid, idle := make([]float64, seeds), make([]bool, seeds)
	err = Each(ctx, Indices(seeds), func(ctx context.Context, k int) error {
		t, _, err := j.Simulate(ctx, o.Spared(j.Spare), n+j.Spare, candidate.AsPredicted(),
			uint64(k))
		if err == nil {
			paid[k], idle[k] = o.Paid(t.Running), NeverRan(o.Spared(j.Spare), &t, n+j.Spare)
		}
		return err
	})
	for _, v := range paid {
		sum += v
	}
	return sum, !slices.Contains(idle, false), err
}

// NeverRan reports whether some replicas of each pool never ran in a simulation of a scaled fleet
// of up to n. Then fleets of up to more replicas show the same. A policy learns how many replicas
// run, not how many there are, and the first that is off is started: as long as the last one is
// off, no decision depends on how many come after it (TestReplicasThatNeverRun).
func NeverRan(o *candidate.Option, t *oracle.Trial, n int) bool {
	if o.Decode == nil {
		return t.Unused > 0
	}
	// Of either pool all but the least number may be unused.
	rest := n - o.Scaling.Always - o.Scaling.Standing
	return t.Unused > rest*int(max(o.Prefills, o.Decodes))
}
