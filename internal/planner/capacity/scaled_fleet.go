package capacity

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
func (s *search) fixedInstead(ctx context.Context, o *candidate.Option) (int, error) {
	n, err := s.leastFixed(ctx, o)
	if err != nil || n == 0 {
		return 0, err
	}
	fixed := o.Unscaled()
	for range mostSteps {
		ok, _, err := s.Keeps(ctx, fixed, n, o.Worst(), s.Seeds)
		if err != nil || ok {
			return n, err
		}
		if n++; !o.Available(n + s.Spare) {
			break
		}
	}
	return 0, nil
}

// scaledFleet describes the chosen fleet, given what its simulation shows; nil where all replicas
// run always.
func (s *search) scaledFleet(full *oracle.Trial) *answer.ScaledFleet {
	o := s.chosen()
	if !o.Scaled() {
		return nil
	}
	f := &answer.ScaledFleet{Policy: s.Trials.File.Plan.Menu.ScalingWords(o.Scaling.Index),
		Fewest: o.Scaling.Always + s.Spare, Mean: s.outcomes[s.best].running}
	for k, server := range o.Servers() {
		f.Accelerators += float64(full.Running[k] * float64(server.GPUs))
	}
	f.Accelerators *= f.Mean / o.Paid(full.Running) // of all seeds
	return f
}
