package capacity

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
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
	err := s.answer(ctx)
	if err == nil && s.Trials.File.Plan.Scaled() {
		err = s.check(ctx)
	}
	if err == nil {
		err = (&tuner{s}).tune(ctx)
	}
	return err
}

func (s *cheapestGoal) rules() []string {
	return s.andScaled("where a fleet misses the SLO, it does so with fewer replicas")
}

func (s *cheapestGoal) show(ctx context.Context, a *answer.Answer) (err error) {
	a.Shapes, a.FurtherShapes, err = s.shapes(ctx)
	return err
}

func (s *cheapestGoal) describe(ctx context.Context, a *answer.Answer) error {
	return s.details(ctx, a, func(ctx context.Context, group *errgroup.Group) {
		if !s.shared {
			s.others(ctx, group, a)
		}
	})
}
