package capacity

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
)

// goal is what a plan asks to find.
type goal interface {
	// find makes the fleet that is asked for the best of a search; there may be no such fleet.
	find(ctx context.Context) error
	// rules say what fleets are left out by that is not proven.
	rules() []string
	// show adds to an answer what was found beside the best fleet.
	show(ctx context.Context, a *answer.Answer) error
	// describe adds the best fleet to an answer.
	describe(ctx context.Context, a *answer.Answer) error
}

// fleetGoal is what goals have in common whose answer is a fleet for a load.
type fleetGoal struct{ *search }

func (s *fleetGoal) describe(ctx context.Context, a *answer.Answer) error {
	return s.details(ctx, a, func(context.Context, *errgroup.Group) {})
}

// cheapestGoal is the cheapest fleet that keeps the SLO.
type cheapestGoal struct{ fleetGoal }

func (s *cheapestGoal) find(ctx context.Context) error { return s.cheapest(ctx) }

// cheapest finds the cheapest fleet that keeps the SLO.
func (s *search) cheapest(ctx context.Context) error {
	first := func(ctx context.Context) error {
		err := s.fromMenu(ctx)
		s.answered = s.Trials.Requests()
		return err
	}
	return s.inSteps(ctx, first, (&shapeRows{s}).alone, s.refineRatios)
}

// fromMenu finds the cheapest fleet at the settings and of the groups of the menu.
func (s *search) fromMenu(ctx context.Context) error {
	if err := s.answer(ctx); err != nil || !s.Trials.File.Plan.Scaled() {
		return err
	}
	return s.check(ctx)
}

// inSteps runs the steps of a search one after another, and reports the answer after each.
func (s *search) inSteps(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		s.tell()
	}
	return nil
}

// tell tells the best fleet so far, where it is another than the last that was told.
func (s *search) tell() {
	if s.leads == nil || s.best < 0 {
		return
	}
	words := fmt.Sprintf("%s, %s an hour", s.wordsOfBest(), s.Currency().Cents(s.cost()))
	if words != s.told {
		s.leads(cmp.Or(s.Trials.File.Plan.Name, "The best so far") + ": " + words)
	}
	s.told = words
}

func (s *cheapestGoal) rules() []string {
	list := []string{"where a fleet misses the SLO, it does so with fewer replicas"}
	if s.Trials.File.Plan.Scaled() {
		list = append(list, "up to n replicas that start and stop miss an SLO that n fixed ones "+
			"miss", "they cost no less where n is higher")
	}
	return list
}

func (s *cheapestGoal) show(ctx context.Context, a *answer.Answer) (err error) {
	if p := &s.Trials.File.Plan; !p.FirstAnswer() || p.Horizon != nil {
		a.Shapes, a.FurtherShapes, err = s.shapes(ctx)
	}
	return err
}

func (s *cheapestGoal) describe(ctx context.Context, a *answer.Answer) error {
	return s.details(ctx, a, func(ctx context.Context, group *errgroup.Group) {
		if !s.shared {
			s.others(ctx, group, a)
		}
	})
}

// details adds the details of the best fleet to an answer. They do not depend on each other, and
// are computed at the same time as what further adds to their group.
func (s *fleetGoal) details(ctx context.Context, a *answer.Answer,
	further func(context.Context, *errgroup.Group)) error {
	var oneFewer *answer.Advice
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		a.Chosen, err = s.fleet().Deploy(ctx)
		return err
	})
	group.Go(func() (err error) {
		oneFewer, err = s.oneFewer(ctx)
		return err
	})
	further(ctx, group)
	if err := group.Wait(); err != nil {
		return err
	}
	a.Chosen.OneFewer = oneFewer
	return nil
}

// others lets a group compute the alternatives to the cheapest fleet.
func (s *cheapestGoal) others(ctx context.Context, group *errgroup.Group, a *answer.Answer) {
	further := !s.Trials.File.Plan.FirstAnswer() && s.left("what is worth measuring, other inputs")
	group.Go(func() (err error) {
		if s.tuned != nil {
			s.tuned.PlainCache, err = s.plainCache(ctx)
			if err != nil {
				return err
			}
		}
		if growth := s.Trials.File.Plan.Fleet.Growth; growth != 1 {
			if a.Growth, err = s.growth(ctx, growth); err != nil {
				return err
			}
		}
		if h := s.Trials.File.Plan.Horizon; h != nil {
			kinds, size := s.beside(ctx, a.Shapes)
			a.Horizon, err = overMonths(h, s.Trials.File.Plan.Hours(), kinds, size,
				s.mixes(ctx, kinds))
			if err != nil {
				return err
			}
		}
		if !further {
			return nil
		}
		if s.curved {
			if a.PriceCurves, err = s.prices(ctx, a.Shapes); err != nil {
				return err
			}
		}
		if a.Measurements, err = s.measurements(ctx); err != nil {
			return err
		}
		if s.short {
			return nil
		}
		if list, more := s.contenders(); more {
			a.Contenders = len(list)
		}
		a.Sensitivity, err = s.sensitivity(ctx)
		return err
	})
}

// oneFewer returns the changes with which one replica fewer would suffice; nil where that is not
// asked.
func (s *fleetGoal) oneFewer(ctx context.Context) (*answer.Advice, error) {
	n := s.outcomes[s.best].replicas
	if n <= 1 || s.Goal().Find != asked.FindCheapest || !s.Trials.Shard.Whole() ||
		s.short || s.Trials.File.Plan.FirstAnswer() {
		return nil, nil
	}
	return detail.Advise(ctx, &s.Judge, s.chosen(), n-1, s.options[s.best].Worst())
}

// adviseNearest adds the changes that would help the option that comes closest to the SLO. The
// option has all replicas that exist, or the least number that it needs.
func (s *search) adviseNearest(ctx context.Context, n *answer.Nearest) error {
	if find := s.Trials.File.Plan.Goal.Find; n == nil || find != asked.FindCheapest ||
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
	n.Advice, err = detail.Advise(ctx, &s.Judge, o, replicas, o.Worst())
	return err
}
