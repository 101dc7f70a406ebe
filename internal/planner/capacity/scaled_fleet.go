package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
)

// mostSteps bounds how many numbers of replicas are tried beyond the least that may do.
const mostSteps = 8

// fixedInstead returns the least fixed number of the replicas of an option that keeps the SLO,
// spares left out; 0 where none of mostSteps does.
func (s *search) fixedInstead(ctx context.Context, o *option) (int, error) {
	n, err := s.leastFixed(ctx, o)
	if err != nil || n == 0 {
		return 0, err
	}
	fixed := o.unscaled()
	for range mostSteps {
		ok, _, err := s.keeps(ctx, fixed, n, o.worst(), s.seeds)
		if err != nil || ok {
			return n, err
		}
		if n++; !o.available(n + s.spare) {
			break
		}
	}
	return 0, nil
}

// scaledFleet describes the chosen fleet, given what its simulation shows; nil where all replicas
// run always.
func (s *search) scaledFleet(full *trial) *answer.ScaledFleet {
	o := s.chosen()
	if !o.scaled() {
		return nil
	}
	f := &answer.ScaledFleet{Policy: s.trials.file.Plan.Menu.ScalingWords(o.scaling.index),
		Fewest: o.scaling.always + s.spare, Mean: s.outcomes[s.best].running}
	for k, server := range o.servers() {
		f.Accelerators += float64(full.Running[k] * float64(server.gpus))
	}
	f.Accelerators *= f.Mean / o.paid(full.Running) // of all seeds
	return f
}
