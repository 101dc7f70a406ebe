package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/capacity/strategy"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// throughputGoal is the fleet that serves the most requests.
type throughputGoal struct {
	fleetGoal
	all []*rateRange
}

func (g *throughputGoal) find(ctx context.Context, s *search) (err error) {
	g.all, err = s.findThroughput(ctx)
	return err
}

func (*throughputGoal) rules(s *search) []string {
	return s.andScaled("where a fleet misses the SLO, it does so at a higher rate and with fewer " +
		"replicas")
}

func (g *throughputGoal) show(_ context.Context, s *search, a *answer.Answer) error {
	a.Throughputs = s.throughputs(g.all)
	return nil
}

func (g *throughputGoal) describe(ctx context.Context, s *search, a *answer.Answer) error {
	err := g.fleetGoal.describe(ctx, s, a)
	if err == nil {
		a.Load = a.Chosen.Load
	}
	return err
}

// rateRanges returns the fleets among which the one that serves most is to be found: of each option
// the largest.
func (s *search) rateRanges() []*rateRange {
	var list []*rateRange
	for i, o := range s.options {
		n := s.Allowed(o) - s.Spare
		switch {
		case o.Unfit() != "":
			s.outcomes[i] = outcome{kind: unfit}
		case o.Tight:
			s.outcomes[i] = outcome{kind: outOfReach, closest: o.Alone}
		case n < 1:
			s.outcomes[i] = outcome{kind: beyond}
		default:
			s.outcomes[i] = outcome{kind: outdone}
			list = append(list, s.rateRange(i, n))
		}
	}
	return list
}

// rateRange returns what is known of n replicas of option i without a simulation.
func (s *search) rateRange(i, n int) *rateRange {
	o := s.options[i]
	return &rateRange{RateGrid: judge.RateGrid{Kept: judge.Grid + 1,
		Ceiling: float64(n) * o.Ceiling},
		option: i, replicas: n, price: o.Cost(n + s.Spare)}
}

// findThroughput finds the fleet that serves the most requests a second within the limits of the
// goal, and returns the reach of each fleet.
func (s *search) findThroughput(ctx context.Context) ([]*rateRange, error) {
	all, err := s.throughputAlone(ctx)
	if err == nil && s.best >= 0 {
		err = s.raise(ctx, all)
	}
	if err == nil && s.best >= 0 && s.Trials.File.Plan.Tunes() {
		return s.tuneThroughput(ctx, all)
	}
	return all, err
}

// throughputAlone finds the fleet that serves the most at a rate that its replicas sustain alone.
// Of the fleets whose bounds are highest, those bounds are narrowed, until none is above what the
// best would serve if its replicas did what one does. That fleet is then simulated whole. Where it
// misses the SLO, less is known of it, and the search goes on.
func (s *search) throughputAlone(ctx context.Context) ([]*rateRange, error) {
	s.best, s.outcomes = -1, make([]outcome, len(s.options))
	r := &rates{search: s, all: s.rateRanges()}
	r.open = slices.Clone(r.all)
	heap.Init(&r.open)
	err := strategy.Search(ctx, r)
	return r.all, err
}

// raise looks for a fleet that serves more than the answer. A fleet shares its requests more evenly
// than chance does, and may sustain more than its replicas do alone: the answer is tried at higher
// rates until it misses the SLO for sure, and so is each other fleet whose bound is above that.
func (s *search) raise(ctx context.Context, all []*rateRange) error {
	own := slices.IndexFunc(all, func(r *rateRange) bool {
		return r.option == s.best && r.replicas == s.outcomes[s.best].replicas
	})
	order := []*rateRange{all[own]}
	for i, r := range all {
		if i != own && !r.settling && s.outcomes[r.option].kind != broken {
			order = append(order, r)
		}
	}
	for _, r := range order {
		if err := s.raiseOne(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// raiseOne tries a fleet at rates above that of the answer, and makes it the answer at the highest
// that it serves.
func (s *search) raiseOne(ctx context.Context, r *rateRange) error {
	missed := 0 // in a row
	for place := r.Above(s.Rate); place > 0 && missed < mostMissesInARow; place-- {
		d, err := s.sustainsRate(ctx, r, r.Rate(place))
		if err != nil {
			return err
		}
		switch {
		case d.Kept:
			missed = 0
			s.replace(r, place)
		case d.Far:
			missed = mostMissesInARow
		case d.Sure:
			missed++
		}
	}
	return nil
}

// tuneThroughput tries settings that the menu leaves to the engine's defaults in the fleets that
// serve most, at higher rates than the answer does, and returns the reach of each fleet.
func (s *search) tuneThroughput(ctx context.Context, all []*rateRange) ([]*rateRange, error) {
	s.tuned = &answer.Tuned{Without: s.label(s.best), WithoutReplicas: s.size(),
		WithoutHourly: s.cost(), WithoutRate: s.Rate}
	bases := []int{s.best}
	for _, r := range all {
		if !slices.Contains(bases, r.option) && len(bases) < mostTuned && r.Highest() > s.Rate {
			bases = append(bases, r.option)
		}
	}
	err := s.inTurns(ctx, bases, s.changedAny, func(fresh []int, left func() bool) ([]int, error) {
		before := s.best
		for _, i := range fresh {
			n := s.Allowed(s.options[i]) - s.Spare
			if s.outcomes[i].kind = outdone; n < 1 {
				s.outcomes[i].kind = beyond
			}
			if n < 1 || !left() {
				continue
			}
			s.tuned.Tried++
			r := s.rateRange(i, n)
			if err := s.raiseOne(ctx, r); err != nil {
				return nil, err
			}
			if s.best == i {
				all = append(all, r)
			}
		}
		if s.best == before {
			return nil, nil
		}
		return []int{s.best}, nil
	})
	return all, err
}

// mostMissesInARow is at how many rates in a row a fleet misses the SLO for sure, but not by far,
// until it is not tried at higher ones: at one it may by chance.
const mostMissesInARow = 3

// replace makes a fleet the answer that serves more, at the rate of the search.
func (s *search) replace(r *rateRange, place int) {
	was := &s.outcomes[s.best]
	was.kind, was.words = simulated, fmt.Sprintf("%s serve less than %s/s",
		units.Plural(was.replicas, "replica"), report.Figure(s.Rate))
	r.Kept, r.Missed, s.best = place, place-1, r.option
	outcome := &s.outcomes[s.best]
	outcome.kind, outcome.words, outcome.replicas = chosen, "", r.replicas
}

// sustainsRate decides whether the fleet keeps the SLO at a rate: simulated whole, with its spares
// down, over several seeds. If it does, that rate is the one of the search.
func (s *search) sustainsRate(ctx context.Context, r *rateRange, rate float64) (judge.Decision,
	error) {
	before, outcome := s.Rate, &s.outcomes[r.option]
	s.Rate = rate
	d, err := s.Decide(ctx, s.options[r.option], r.replicas, s.options[r.option].Worst())
	if !d.Kept {
		s.Rate = before
	}
	if words, failed := oracle.Failure(err); failed {
		outcome.kind, outcome.words = broken, words
		return judge.Decision{Far: true}, nil
	}
	outcome.closest = max(outcome.closest, d.Share)
	return d, err
}

// throughputs returns what is known of the fleets that serve most, of each accelerator and
// parallelism the best, up to mostShapes.
func (s *search) throughputs(all []*rateRange) []answer.Throughput {
	var list []answer.Throughput
	seen := map[string]bool{}
	slices.SortStableFunc(all, func(a, b *rateRange) int {
		return cmp.Or(-cmp.Compare(a.Highest(), b.Highest()), cmp.Compare(a.price, b.price),
			cmp.Compare(a.option, b.option))
	})
	for _, r := range all {
		o := s.options[r.option]
		if shape := o.Shape(); seen[shape] || len(list) == mostShapes {
			continue
		} else {
			seen[shape] = true
		}
		n := r.replicas + s.Spare
		list = append(list, answer.Throughput{Label: s.label(r.option), Replicas: n,
			Hourly: o.Cost(n), Watts: float64(n) * o.Watts(),
			Rate: r.Rate(r.Kept), Bound: r.Rate(r.Missed), Grade: o.Grade})
	}
	return list
}
