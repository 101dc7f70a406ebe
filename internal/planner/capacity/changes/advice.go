package changes

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Advise simulates a number of replicas of an option, and tries changes that may help.
func Advise(ctx context.Context, j *judge.Judge, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors) (*answer.Advice, error) {
	r, load, err := Observed(ctx, j, o, replicas, wrong)
	if err != nil || r.Begun() == 0 {
		return nil, err
	}
	if r.SLOMet {
		return nil, nil // it is missed when replicas are away, with other seeds or in a longer run
	}
	a := &answer.Advice{Replicas: replicas, Slowdown: wrong.Steps, Late: wrong.First,
		Kept: r.Attainment.All}
	// The plan itself counts replicas, so more of them is no advice.
	if err := planner.TryRemedies(ctx, load, r, "replicas"); err != nil {
		return nil, err
	}
	a.Remedies = r.Diagnosis.Remedies
	a.Insights = append(diagnosis.Missed(r), diagnosis.Remedies(&scenarios.Diagnosis{
		Remedies: a.Remedies})...)
	return a, nil
}

// Observed simulates a whole fleet in this process, and returns a function that reads its scenario
// again.
func Observed(ctx context.Context, j *judge.Judge, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors) (*scenarios.Result, func() (*scenarios.File, error), error) {
	p := &j.Trials.File.Plan
	scenario := o.Scenario(&p.Menu, replicas, wrong.Steps)
	later(&scenario, wrong.First)
	scenario, rate := j.Trials.Part(scenario, j.Rate)
	load := func() (*scenarios.File, error) {
		return j.Trials.File.File(scenario, rate, p.Together(rate, replicas))
	}
	file, err := load()
	if err != nil {
		return nil, nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	r, err := simulation.Run(ctx)
	return r, load, err
}

// later makes the limits of TTFT of a scenario as much stricter as TTFT is later. Limits of whole
// requests stay what they are.
func later(s *scenarios.Scenario, factor float64) {
	s.SLO.TTFT = s.SLO.TTFT.Scaled(1 / factor)
	s.Workload.Classes = slices.Clone(s.Workload.Classes)
	for i := range s.Workload.Classes {
		slo := &s.Workload.Classes[i].SLO
		slo.TTFT = slo.TTFT.Scaled(1 / factor)
	}
}
