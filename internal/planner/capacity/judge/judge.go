// Package judge decides by simulations whether fleets keep an SLO: fixed, scaled and spot ones, by
// one replica, a part of the fleet or the whole of it. It knows nothing of what other fleets do.
package judge

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

// Judge decides about fleets at a rate.
type Judge struct {
	Rate   float64 // of the whole fleet, in requests/s; 0 for a load without a rate
	Spare  int     // the replicas beside the ones that serve
	Seeds  int     // the most runs of a whole fleet for a decision
	Trials *oracle.Trials
}

// Goal returns what the plan asks to find.
func (j *Judge) Goal() *menu.Goal { return &j.Trials.File.Plan.Goal }

// Currency returns the currency of all prices.
func (j *Judge) Currency() units.Currency { return j.Trials.File.Plan.Currency }

// Money writes an amount with its currency and three significant digits.
func (j *Judge) Money(x float64) string { return j.Currency().Format(report.Figure(x)) }

// Simulate runs replicas of an option at the whole rate where predictions are wrong by some
// factors, with the plan's seed and others, and returns the number of requests of the scenario too.
func (j *Judge) Simulate(ctx context.Context, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, int64, error) {
	return j.simulateAt(ctx, o, replicas, j.Rate, wrong, seed)
}

// simulateAt does so at another rate.
func (j *Judge) simulateAt(ctx context.Context, o *candidate.Option, replicas int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (oracle.Trial, int64, error) {
	p := &j.Trials.File.Plan
	scenario := o.Scenario(&p.Menu, replicas, wrong.Steps)
	scenario.Seed += seed
	return j.Trials.Fleet(ctx, scenario, replicas, rate, wrong.First)
}

// Built builds a scenario at the rate of the search.
func (j *Judge) Built(asked scenarios.Scenario) (*scenarios.Simulation, error) {
	file, err := j.Trials.File.File(asked, j.Rate, 1)
	if err != nil {
		return nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	return simulation, simulation.Source.Close()
}
