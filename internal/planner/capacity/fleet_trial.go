package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// simulate runs replicas of an option at the whole rate where predictions are wrong by some
// factors, with the plan's seed and others, and returns the number of requests of the scenario too.
func (s *search) simulate(ctx context.Context, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, int64, error) {
	return s.simulateAt(ctx, o, replicas, s.rate, wrong, seed)
}

// simulateAt does so at another rate.
func (s *search) simulateAt(ctx context.Context, o *candidate.Option, replicas int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, int64, error) {
	p := &s.trials.File.Plan
	scenario := o.Scenario(&p.Menu, replicas, wrong.Steps)
	scenario.Seed += seed
	scenario.Tokens = p.Tokens
	return s.trials.Fleet(ctx, scenario, replicas, rate, wrong.First)
}
