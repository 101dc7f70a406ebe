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
// judge decides with it whether fleets keep the SLO, this package searches among them, and package
// answer has what it found, as values and as text.
package capacity

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/mixed"
	"github.com/llmsim/llmsim/internal/planner/capacity/today"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"
)

// finding is the result of a search, with all that the answer needs.
type finding struct {
	*search
	points     []answer.Point
	rateRanges []*rateRange
	jobs       []*jobFleet
	// stock reports whether other models take accelerators from the same stock, and shared whether
	// the fleet is not the best for this model alone for that reason.
	stock, shared bool
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
	found := &finding{search: s}
	switch f.Plan.Goal.Find {
	case menu.FindJob:
		found.jobs, err = s.doJob(ctx)
	case menu.FindThroughput:
		found.rateRanges, err = s.findThroughput(ctx)
	case menu.FindLatency:
		found.points, err = s.lowestLatency(ctx)
		if err == nil && s.best >= 0 && f.Plan.Tunes() {
			found.points, err = s.tuneLatency(ctx, found.points)
		}
	default:
		if err = s.answer(ctx); err == nil && f.Plan.Scaled() {
			err = s.check(ctx)
		}
		if err == nil {
			err = s.tune(ctx)
		}
	}
	if err == nil && f.Plan.Goal.Find == menu.FindFront && s.best >= 0 {
		found.points, err = s.front(ctx)
		if err == nil && f.Plan.Tunes() {
			found.points, err = s.tuneFront(ctx, found.points)
		}
	}
	return found, err
}

// newAnswer makes an answer from a finding.
func newAnswer(ctx context.Context, f *asked.File, found *finding) (*answer.Answer, error) {
	s, p := found.search, &f.Plan
	var err error
	a := &answer.Answer{Joint: s.joint, Name: p.Name, Model: p.Model, Goal: p.Goal,
		Currency: p.Currency, Prices: p.PricesFrom(), PricesOf: s.pricesOf(),
		Points: found.points, Throughputs: s.throughputs(found.rateRanges), SLO: p.SLO,
		ClassSLOs: classSLOs(p), Rate: s.Rate, Spare: s.Spare, Confidence: p.Effort.Confidence,
		Options: s.listed(), Tuned: s.tuned, Simulations: s.Trials.Count()}
	if l := s.load(); l != nil {
		a.Load = l.Words
	}
	a.SentOn = p.SentOn
	for _, j := range found.jobs[:min(len(found.jobs), mostShapes)] {
		a.Jobs = append(a.Jobs, s.jobDone(j))
	}
	addOutcomes(a, s)
	a.Unproven = s.unproven()
	if p.Goal.Find == menu.FindCheapest {
		if a.Shapes, a.FurtherShapes, err = s.shapes(ctx); err != nil {
			return nil, err
		}
	}
	a.BestMeasured = candidate.BestMeasured(a.Shapes)
	if s.best >= 0 {
		err = describe(ctx, f, found, a)
	} else {
		a.Nearest = s.nearest()
		err = s.adviseNearest(ctx, a.Nearest)
	}
	if err != nil {
		return nil, err
	}
	if p.Goal.Find == menu.FindThroughput && a.Chosen != nil {
		a.Load = a.Chosen.Load
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

// describe adds the details of the chosen fleet to the answer. They do not depend on each other,
// and are computed at the same time.
func describe(ctx context.Context, f *asked.File, found *finding, a *answer.Answer) error {
	var err error
	s := found.search
	if f.Plan.Job != nil {
		a.Chosen, err = s.deployJob(ctx)
		return err
	}
	var insights []string
	var oneFewer *answer.Advice
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		a.Chosen, err = s.fleet().Deploy(ctx)
		return err
	})
	group.Go(func() (err error) {
		insights, oneFewer, err = s.explain(ctx)
		return err
	})
	if f.Plan.Goal.Find == menu.FindCheapest && !found.shared {
		others(ctx, f, group, found, a)
	}
	if err := group.Wait(); err != nil {
		return err
	}
	a.Chosen.Insights, a.Chosen.OneFewer = insights, oneFewer
	return nil
}

// others lets a group compute the alternatives to the cheapest fleet.
func others(ctx context.Context, f *asked.File, group *errgroup.Group, found *finding,
	a *answer.Answer) {
	s := found.search
	fleets := &mixed.Search{Fleet: *s.fleet(), Options: s.options}
	if s.Trials.Shard.Whole() && !found.stock {
		group.Go(func() (err error) {
			a.Mixed, err = fleets.Cheapest(ctx, a.Shapes)
			return err
		})
	}
	if f.Plan.Fleet.Autoscaling {
		a.Autoscaling = fleets.Autoscaled(&f.Plan.Workload.Rate, a.Shapes)
		a.Rented = fleets.Rented(&f.Plan.Workload.Rate, a.Shapes)
	}
	group.Go(func() (err error) {
		if growth := f.Plan.Fleet.Growth; growth != 1 {
			if a.Growth, err = s.growth(ctx, growth); err != nil {
				return err
			}
		}
		if len(s.contenders(contender)) == mostContenders {
			a.Contenders = mostContenders
		}
		a.Sensitivity, err = s.sensitivity(ctx)
		return err
	})
}

// growth finds the best fleet for factor times the load.
func (s *search) growth(ctx context.Context, factor float64) (*answer.Growth, error) {
	later, err := s.perturbed(ctx, perturbation{plan: func(p *menu.Plan) { p.ScaleRate(factor) }},
		math.Inf(1))
	if err != nil {
		return nil, err
	}
	later.Trials.Rough = false
	if err := later.answer(ctx); err != nil {
		return nil, err
	}
	g := &answer.Growth{Factor: factor}
	if later.best >= 0 {
		*g = answer.Growth{Factor: factor, Label: later.label(later.best),
			Replicas: later.size(), Hourly: later.cost()}
	}
	return g, nil
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
