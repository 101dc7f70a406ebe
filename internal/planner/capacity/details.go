package capacity

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/changes"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
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
	group.Go(func() (err error) {
		if growth := s.Trials.File.Plan.Fleet.Growth; growth != 1 {
			if a.Growth, err = s.growth(ctx, growth); err != nil {
				return err
			}
		}
		if list, more := s.contenders(contender); more {
			a.Contenders = len(list)
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
	if later.best < 0 {
		return &answer.Growth{Factor: factor}, nil
	}
	return later.confirmed(ctx, factor)
}

// mostFurther is how many replicas more than a search has found are tried until fresh draws of the
// load confirm a fleet.
const mostFurther = 3

// confirmed returns the best fleet, with as many replicas as keep the SLO with draws of the load
// that decided nothing; nil if these confirm no such fleet.
func (s *search) confirmed(ctx context.Context, factor float64) (*answer.Growth, error) {
	o := s.chosen()
	for n := s.size(); n <= s.size()+mostFurther && o.Available(n); n++ {
		if ok, err := s.Confirms(ctx, o, n-s.Spare); err != nil || !ok {
			if err != nil || o.Scaled() {
				return nil, err
			}
			continue
		}
		g := &answer.Growth{Factor: factor, Label: s.label(s.best), Replicas: n,
			Hourly: s.cost()}
		if n > s.size() {
			g.Hourly = o.Cost(n)
		}
		return g, nil
	}
	return nil, nil
}

// explain returns the diagnosis of the chosen fleet, as `llmsim scenario` gives it, and the changes
// with which one replica fewer would suffice.
func (s *search) explain(ctx context.Context) (insights []string, oneFewer *answer.Advice,
	err error) {
	if !s.Trials.Shard.Whole() {
		return nil, nil, nil
	}
	r, _, err := changes.Observed(ctx, &s.Judge, s.chosen().Spared(s.Spare), s.size(),
		candidate.AsPredicted())
	if err != nil {
		return nil, nil, err
	}
	if n := s.outcomes[s.best].replicas; n > 1 && s.Goal().Find == menu.FindCheapest {
		oneFewer, err = changes.Advise(ctx, &s.Judge, s.chosen(), n-1, s.options[s.best].Worst())
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
	n.Advice, err = changes.Advise(ctx, &s.Judge, o, replicas, o.Worst())
	return err
}
