package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// judge decides about fleets at a rate.
type judge struct {
	rate   float64 // of the whole fleet, in requests/s; 0 for a load without a rate
	spare  int     // the replicas beside the ones that serve
	seeds  int     // the most runs of a whole fleet for a decision
	trials *oracle.Trials
}

func (s *judge) goal() *menu.Goal { return &s.trials.File.Plan.Goal }

// currency returns the currency of all prices.
func (s *judge) currency() units.Currency { return s.trials.File.Plan.Currency }

// money writes an amount with its currency and three significant digits.
func (s *judge) money(x float64) string { return s.currency().Format(report.Figure(x)) }

// simulate runs replicas of an option at the whole rate where predictions are wrong by some
// factors, with the plan's seed and others, and returns the number of requests of the scenario too.
func (s *judge) simulate(ctx context.Context, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, int64, error) {
	return s.simulateAt(ctx, o, replicas, s.rate, wrong, seed)
}

// simulateAt does so at another rate.
func (s *judge) simulateAt(ctx context.Context, o *candidate.Option, replicas int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, int64, error) {
	p := &s.trials.File.Plan
	scenario := o.Scenario(&p.Menu, replicas, wrong.Steps)
	scenario.Seed += seed
	scenario.Tokens = p.Tokens
	return s.trials.Fleet(ctx, scenario, replicas, rate, wrong.First)
}

// built builds a scenario at the rate of the search.
func (s *judge) built(asked scenarios.Scenario) (*scenarios.Simulation, error) {
	file, err := s.trials.File.File(asked, s.rate, 1)
	if err != nil {
		return nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	return simulation, simulation.Source.Close()
}
