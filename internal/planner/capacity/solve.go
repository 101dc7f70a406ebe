// Package capacity finds the cheapest fleet that meets an SLO: from a model, a workload, an SLO and
// a menu of hardware and settings to a number of replicas, with the reasons why other options lose.
//
// If possible, a fleet is sized by simulating one replica. Requests that arrive as a Poisson
// process and are dealt out at random arrive at each replica as a Poisson process (Kingman,
// "Poisson Processes", 1993, colouring theorem). Dealing them out in turn makes arrivals more even.
// So n replicas sustain n times the rate of one, and the chosen fleet is simulated whole in the
// end. For any other load, such as a recorded one, whole fleets are simulated.
//
// Data goes one way: package menu has what there is to choose from, asked what is asked for,
// candidate and build what can be built of both and bounds on it, oracle simulates candidates,
// judge decides with it whether fleets keep the SLO, this package has a goal for each thing that a
// plan may ask for, which package strategy searches, and package answer has what was found, as
// values and as text. Packages detail, mixed, paired, changes and today know fleets, and not how
// they are looked for.
package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/today"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"
)

// finding is the result of a search, with what its goal knows beside the best fleet.
type finding struct {
	*search
	goal goal
}

// goalOf returns the goal of a plan.
func goalOf(p *menu.Plan) goal {
	switch p.Goal.Find {
	case menu.FindJob:
		return &jobGoal{}
	case menu.FindThroughput:
		return &throughputGoal{}
	case menu.FindFront:
		return &frontGoal{}
	}
	return cheapestGoal{}
}

// find searches for the fleet that the goal asks for, for one model.
func find(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*finding, error) {
	s, err := newSearch(ctx, f, q, o)
	if err != nil {
		return nil, err
	}
	if f.Today != nil { // what cannot be compared is refused before anything is simulated
		if _, _, err := today.Deployment(&s.Judge, s.options); err != nil {
			return nil, err
		}
	}
	if err := s.possible(); err != nil {
		return nil, err
	}
	found := &finding{search: s, goal: goalOf(&f.Plan)}
	return found, found.goal.find(ctx, s)
}

// newAnswer makes an answer from a finding.
func newAnswer(ctx context.Context, f *asked.File, found *finding) (*answer.Answer, error) {
	s, p := found.search, &f.Plan
	var err error
	a := &answer.Answer{Joint: s.joint, Name: p.Name, Model: p.Model, Goal: p.Goal,
		Currency: p.Currency, Prices: p.PricesFrom(), Warnings: p.Warnings(),
		SLO: p.SLO, ClassSLOs: classSLOs(p), Rate: s.Rate, Spare: s.Spare,
		Confidence: p.Effort.Confidence,
		Options:    s.listed(), Tuned: s.tuned, Simulations: s.Trials.Count()}
	if l := s.load(); l != nil {
		a.Load = l.Words
	}
	a.SentOn = p.SentOn
	var chosen *candidate.Option
	if s.best >= 0 {
		chosen = s.chosen()
	}
	a.PricesOf = candidate.Prices(s.options, chosen, s.Currency())
	addOutcomes(a, s)
	a.Unproven = s.unproven(found.goal.rules(s))
	if err := found.goal.show(ctx, s, a); err != nil {
		return nil, err
	}
	a.BestMeasured = candidate.BestMeasured(a.Shapes)
	if s.best >= 0 {
		err = found.goal.describe(ctx, s, a)
	} else {
		a.Nearest = s.nearest()
		err = s.adviseNearest(ctx, a.Nearest)
	}
	if err != nil {
		return nil, err
	}
	if f.Today != nil {
		var best *detail.Fleet
		if s.best >= 0 {
			best = s.fleet()
		}
		if a.Today, err = today.Compare(ctx, &s.Judge, s.options, best); err != nil {
			return nil, err
		}
	}
	a.Further = s.Trials.Count() - a.Simulations
	a.Failed = s.Trials.Failed()
	return a, nil
}

// classSLOs returns the SLOs of classes that have one of their own.
func classSLOs(p *menu.Plan) []answer.ClassSLO {
	var list []answer.ClassSLO
	for _, c := range p.Workload.Classes {
		if c.SLO != (scenarios.SLO{}) {
			list = append(list, answer.ClassSLO{Class: c.Name, SLO: c.SLO.Complete()})
		}
	}
	return list
}
