package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/units"
)

// maxPriceRatio is the largest price of a front without a budget, as a multiple of the price of the
// cheapest fleet, as the key goal.budget says.
const maxPriceRatio = 2.0

// sizeRatio is the ratio of the sizes of two consecutive fleets of an option on a front.
const sizeRatio = 1.25

// frontGoal is all fleets that no other beats in price, latency and energy at once.
type frontGoal struct {
	fleetGoal
	judge.Ordered[detail.Rival]
	comparison *detail.Comparison
	all        []answer.Point // of the fleets that keep the SLO
}

func (s *frontGoal) find(ctx context.Context) error {
	err := s.cheapest(ctx)
	if err != nil || s.best < 0 {
		return err
	}
	if err = s.front(ctx); err == nil && s.Trials.File.Plan.Tunes() {
		err = s.tuneFront(ctx)
	}
	return err
}

func (s *frontGoal) rules() []string {
	return []string{"where a fleet misses the SLO, it does so with fewer replicas",
		"fleets between those whose sizes are a quarter apart add nothing"}
}

func (s *frontGoal) show(_ context.Context, a *answer.Answer) error {
	a.Points = s.all
	if front := a.Front(); a.Goal.Fastest && len(front) > 0 {
		p := slices.MinFunc(front, func(a, b answer.Point) int {
			return cmp.Compare(a.Latency, b.Latency)
		})
		a.Warnings = append(a.Warnings, fmt.Sprintf("The fastest fleet of the front is %d of %s, "+
			"for %s an hour: %s %s.", p.Replicas, p.Label, a.Currency.Cents(p.Hourly),
			a.Goal.Measure, units.Figure(p.Latency)))
	}
	return nil
}

// front finds the fleets that keep the SLO and that no other beats in price, latency and energy at
// once, from the cheapest on. Fleets are taken by their price; fleets whose bounds show that
// another is as good in all three are not simulated.
func (s *frontGoal) front(ctx context.Context) error {
	s.comparison = detail.NewComparison(s.Judge)
	list, err := s.frontFleets()
	if err != nil {
		return err
	}
	s.Open, s.AtOnce, s.MayWin = list, atOnce, s.mayBeOnFront
	err = judge.Search(ctx, s)
	markFront(s.all)
	return err
}

// mayBeOnFront reports whether no other fleet beats a fleet, whatever its simulation would show.
func (s *frontGoal) mayBeOnFront(fleet detail.Rival) bool {
	least := answer.Point{Hourly: s.priceOf(fleet), Latency: fleet.Latency, Energy: fleet.Energy}
	return !slices.ContainsFunc(s.all, func(p answer.Point) bool { return p.Dominates(&least) })
}

// Try simulates fleets.
func (s *frontGoal) Try(ctx context.Context, some []detail.Rival) error {
	kept, err := s.points(ctx, some)
	s.all = append(s.all, kept...)
	return err
}

// tuneFront tries settings that the menu leaves to the engine's defaults in the cheapest fleet of a
// front, in the one with the lowest latency and in one between, and adds the fleets that are better
// by more than a hundredth.
func (s *frontGoal) tuneFront(ctx context.Context) error {
	s.tuned = &answer.Tuned{Without: s.label(s.best), WithoutReplicas: s.size(),
		WithoutHourly: s.cost()}
	t, tried := &tuner{s.search}, map[int]bool{}
	front := (&answer.Answer{Points: s.all}).Front()
	if len(front) == 0 { // simulations failed
		return nil
	}
	for _, k := range []int{0, len(front) / 2, len(front) - 1} {
		base := front[k]
		if tried[base.Option] {
			continue
		}
		tried[base.Option] = true
		err := t.coordinateSearch(ctx, mostTuningTurns, []int{base.Option}, t.changedAny, func(
			fresh []int, left func() bool) (next []int, err error) {
			var list []detail.Rival
			for _, i := range fresh {
				list = append(list, detail.Rival{Option: s.options[i],
					Replicas: base.Replicas - s.Spare})
			}
			s.tuned.Tried += len(list)
			kept, err := s.points(ctx, list)
			for _, p := range kept {
				if better(&p, s.all) {
					s.all, next = append(s.all, p), []int{p.Option}
				}
			}
			if !left() {
				next = nil
			}
			return next, err
		})
		if err != nil {
			return err
		}
	}
	return s.cheapestOfFront(ctx)
}

// better reports whether a point has a latency or an energy that is lower by more than a hundredth
// than at every point that costs no more.
func better(p *answer.Point, all []answer.Point) bool {
	latency, energy := math.Inf(1), math.Inf(1)
	for i := range all {
		if q := &all[i]; q.Hourly <= p.Hourly {
			latency, energy = min(latency, q.Latency), min(energy, q.Energy)
		}
	}
	return p.Latency < latency*(1-worthTuning) || p.Energy < energy*(1-worthTuning)
}

// cheapestOfFront marks the front, and where a fleet with other settings beats the answer at its
// price, makes it the answer, if it keeps the SLO over several seeds; else it leaves it out.
func (s *frontGoal) cheapestOfFront(ctx context.Context) error {
	for {
		all := s.all
		markFront(all)
		own := slices.IndexFunc(all, func(p answer.Point) bool {
			return p.Option == s.best && p.Replicas == s.size()
		})
		by := slices.IndexFunc(all, func(p answer.Point) bool {
			return own >= 0 && p.Front && p.Dominates(&all[own])
		})
		if by < 0 {
			s.tuned.Settings = s.chosen().Settings()
			return nil
		}
		o, n := s.options[all[by].Option], all[by].Replicas-s.Spare
		d, err := s.Decide(ctx, o, n, o.Worst())
		switch {
		case err != nil:
			return err
		case !d.Kept:
			s.all = slices.Delete(all, by, by+1)
		default:
			s.tuned.WithoutLatency = cmp.Or(s.tuned.WithoutLatency, all[own].Latency)
			s.makeBest(all[by].Option)
			s.outcomes[s.best].replicas = n
		}
	}
}

// frontFleets lists the fleets of the menu that may be on the front, by price. These are the
// cheapest fleet, and the fleets of each option that cost as much or more, in steps of a quarter,
// up to the largest, which is the fastest.
func (s *frontGoal) frontFleets() ([]detail.Rival, error) {
	most := maxPriceRatio * s.cost()
	if b := s.Goal().Budget.Amount; b > 0 {
		most = b
	}
	var list []detail.Rival
	for i, o := range s.options {
		if kind := s.outcomes[i].kind; kind == unfit || kind == outOfReach || kind == tooFew {
			continue
		}
		least := s.Fewest(o)
		if i == s.best {
			least = s.outcomes[i].replicas
		}
		for s.beats(o, least) {
			least++
		}
		largest := min(int(o.Affordable(most*(1+1e-9))), s.Allowed(o)) - s.Spare
		for n := least; n <= largest; {
			f, err := s.comparison.Bounded(o, n)
			if err != nil {
				return nil, err
			}
			list = append(list, f)
			n = max(n+1, min(largest, int(math.Ceil(sizeRatio*float64(n)))))
		}
	}
	slices.SortStableFunc(list, func(a, b detail.Rival) int {
		return cmp.Or(cmp.Compare(s.priceOf(a), s.priceOf(b)), cmp.Compare(a.Latency, b.Latency))
	})
	return list, nil
}

func (s *frontGoal) priceOf(f detail.Rival) float64 {
	return f.Option.Cost(f.Replicas + s.Spare)
}

// markFront marks the points that no other dominates.
func markFront(all []answer.Point) {
	for i := range all {
		all[i].Front = !slices.ContainsFunc(all, func(p answer.Point) bool {
			return p.Dominates(&all[i])
		})
	}
}

// points simulates fleets at the same time, notes what became of their options, and returns the
// ones that keep the SLO.
func (s *frontGoal) points(ctx context.Context, list []detail.Rival) ([]answer.Point, error) {
	for k := range list {
		list[k].Known = list[k].Option.Index == s.best &&
			list[k].Replicas == s.outcomes[s.best].replicas
	}
	results, err := s.comparison.Simulate(ctx, list)
	if err != nil {
		return nil, err
	}
	var kept []answer.Point
	for k := range results {
		s.recordPoint(list[k], &results[k])
		if results[k].Kept {
			kept = append(kept, results[k].Point)
		}
	}
	return kept, nil
}

// recordPoint records the outcome of an option that had a fleet simulated.
func (s *frontGoal) recordPoint(f detail.Rival, o *detail.Compared) {
	outcome := &s.outcomes[f.Option.Index]
	outcome.closest = max(outcome.closest, o.Reduced.Kept.Mean)
	switch {
	case outcome.kind == chosen:
	case o.Failure != "":
		outcome.kind, outcome.words = broken, o.Failure
	case o.Kept:
		outcome.kind, outcome.words = simulated, ""
	case outcome.kind != simulated:
		v := judge.Verdict{Rate: s.Rate / float64(f.Replicas), Trial: o.Reduced}
		outcome.kind, outcome.words = simulated, s.whyLost(f.Option, f.Replicas, v)
	}
}
