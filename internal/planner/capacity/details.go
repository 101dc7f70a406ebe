package capacity

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/changes"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/mixed"
)

// details adds the details of the best fleet to an answer. They do not depend on each other, and
// are computed at the same time as what further adds to their group.
func (s *search) details(ctx context.Context, a *answer.Answer,
	further func(context.Context, *errgroup.Group)) error {
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
	further(ctx, group)
	if err := group.Wait(); err != nil {
		return err
	}
	a.Chosen.Insights, a.Chosen.OneFewer = insights, oneFewer
	return nil
}

// others lets a group compute the alternatives to the cheapest fleet.
func (s *search) others(ctx context.Context, group *errgroup.Group, a *answer.Answer) {
	p := &s.Trials.File.Plan
	fleets := &mixed.Search{Fleet: *s.fleet(), Options: s.options}
	if s.Trials.Shard.Whole() && !s.joint {
		group.Go(func() (err error) {
			a.Mixed, err = fleets.Cheapest(ctx, a.Shapes)
			return err
		})
	}
	if p.Fleet.Autoscaling {
		a.Autoscaling = fleets.Autoscaled(&p.Workload.Rate, a.Shapes)
		a.Rented = fleets.Rented(&p.Workload.Rate, a.Shapes)
	}
	group.Go(func() (err error) {
		if growth := p.Fleet.Growth; growth != 1 {
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
	later, err := s.perturbed(ctx, changes.Input{Plan: func(p *menu.Plan) { p.ScaleRate(factor) }},
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
