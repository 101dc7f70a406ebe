package detail

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// mostSteps bounds how many numbers of replicas are tried beyond the least that may do.
const mostSteps = 8

// fixedInstead returns the least fixed number of the replicas of an option that keeps the SLO,
// spares left out; 0 where none of mostSteps does.
func (f *Fleet) fixedInstead(ctx context.Context, o *candidate.Option) (int, error) {
	n, err := f.LeastFixed(ctx, o)
	if err != nil || n == 0 {
		return 0, err
	}
	fixed := o.Unscaled()
	for range mostSteps {
		ok, _, err := f.Keeps(ctx, fixed, n, o.Worst(), f.Seeds)
		if err != nil || ok {
			return n, err
		}
		if n++; !o.Available(n + f.Spare) {
			break
		}
	}
	return 0, nil
}

// scaledFleet describes the chosen fleet, given what its simulation shows; nil where all replicas
// run always.
func (f *Fleet) scaledFleet(full *oracle.Trial) *answer.ScaledFleet {
	o := f.Option
	if !o.Scaled() {
		return nil
	}
	d := &answer.ScaledFleet{Policy: f.Trials.File.Plan.Menu.ScalingWords(o.Scaling.Index),
		Fewest: o.Scaling.Always + f.Spare, Mean: f.Running}
	for k, server := range o.Servers() {
		d.Accelerators += float64(full.Running[k] * float64(server.GPUs))
	}
	d.Accelerators *= d.Mean / o.Paid(full.Running) // of all seeds
	return d
}
