package capacity

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/remedy"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// explain returns the diagnosis of the chosen fleet, as `llmsim scenario` gives it, and the changes
// with which one replica fewer would suffice.
func (s *search) explain(ctx context.Context) (insights []string, oneFewer *answer.Advice,
	err error) {
	if !s.Trials.Shard.Whole() {
		return nil, nil, nil
	}
	r, _, err := observed(&s.Judge, ctx, s.chosen().Spared(s.Spare), s.size(),
		candidate.AsPredicted())
	if err != nil {
		return nil, nil, err
	}
	if n := s.outcomes[s.best].replicas; n > 1 && s.Goal().Find == menu.FindCheapest {
		oneFewer, err = advise(&s.Judge, ctx, s.chosen(), n-1, s.options[s.best].Worst())
	}
	return diagnosis.Of(r), oneFewer, err
}

// adviseNearest adds the changes that would help the option that comes closest to the SLO. The
// option has all replicas that exist, or the least number that it needs.
func (s *search) adviseNearest(ctx context.Context, n *answer.Nearest) error {
	if find := s.Trials.File.Plan.Goal.Find; n == nil || find != menu.FindCheapest ||
		!s.Trials.Shard.Whole() {
		return nil
	}
	o, replicas := s.options[n.Option], 0
	if kind := s.outcomes[n.Option].kind; kind == broken || kind == outOfReach {
		return nil // nothing is known of it, or a request alone misses the SLO
	}
	for _, server := range o.Servers() {
		if server.Offer.Count > 0 {
			replicas = max(1, s.Most(o))
		}
	}
	if replicas == 0 {
		replicas = s.Fewest(o)
	}
	var err error
	n.Advice, err = advise(&s.Judge, ctx, o, replicas, o.Worst())
	return err
}

// advise simulates a number of replicas of an option, and tries changes that may help.
func advise(s *judge.Judge, ctx context.Context, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors) (*answer.Advice, error) {
	r, load, err := observed(s, ctx, o, replicas, wrong)
	if err != nil || r.Completed == 0 {
		return nil, err
	}
	if r.SLOMet {
		return nil, nil // it is missed when replicas are away, with other seeds or in a longer run
	}
	a := &answer.Advice{Replicas: replicas, Slowdown: wrong.Steps, Late: wrong.First,
		Kept: r.Attainment.All}
	// The plan itself counts replicas, so more of them is no advice.
	if err := remedy.Try(ctx, load, r, "replicas"); err != nil {
		return nil, err
	}
	a.Remedies = r.Diagnosis.Remedies
	a.Insights = append(diagnosis.Missed(r), diagnosis.Remedies(&scenarios.Diagnosis{
		Remedies: a.Remedies})...)
	return a, nil
}

// observed simulates a whole fleet in this process, and returns a function that reads its scenario
// again.
func observed(s *judge.Judge, ctx context.Context, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors) (*scenarios.Result, func() (*scenarios.File, error), error) {
	p := &s.Trials.File.Plan
	scenario := o.Scenario(&p.Menu, replicas, wrong.Steps)
	later(&scenario, wrong.First)
	scenario, rate := s.Trials.Part(scenario, s.Rate)
	load := func() (*scenarios.File, error) {
		return s.Trials.File.File(scenario, rate, p.Together(rate, replicas))
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
