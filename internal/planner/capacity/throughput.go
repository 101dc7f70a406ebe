package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
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
// The highest bounds are narrowed until no bound is above what the best would serve if its replicas
// did what one does. That fleet is then simulated whole. Where it misses the SLO, less is known of
// it, and the search goes on.
func (s *search) throughputAlone(ctx context.Context) ([]*rateRange, error) {
	s.best, s.outcomes = -1, make([]outcome, len(s.options))
	r := &rates{search: s, all: s.rateRanges()}
	r.open = slices.Clone(r.all)
	heap.Init(&r.open)
	err := judge.Search(ctx, r)
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

// raiseOne tries a fleet at rates above the answer's, and makes it the answer at the highest that
// it serves.
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
	if words, failed := judge.Failure(err); failed {
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

// rates is fleets by the highest rate that they may serve.
type rates struct {
	*search
	all    []*rateRange
	open   rateHeap
	served float64 // the highest rate that any fleet is believed to serve
	whole  bool    // whether the fleets to try are simulated whole
	found  bool
}

// Next takes the fleets that may serve the most, or else the one that is believed to.
func (r *rates) Next() []*rateRange {
	if r.found || len(r.open) == 0 || r.open[0].Highest() <= 0 {
		return nil
	}
	some := r.open.unknown(r.served)
	if r.whole = len(some) == 0; r.whole {
		some = []*rateRange{heap.Pop(&r.open).(*rateRange)}
	}
	return some
}

// Try narrows the bounds of fleets, or simulates one whole.
func (r *rates) Try(ctx context.Context, some []*rateRange) error {
	if r.whole {
		return r.tryWhole(ctx, some[0])
	}
	if err := r.narrow(ctx, some, r.served); err != nil {
		return err
	}
	for _, one := range some {
		if r.outcomes[one.option].kind != broken {
			r.served = max(r.served, one.Rate(one.Kept))
			heap.Push(&r.open, one)
		}
	}
	return nil
}

// tryWhole makes a fleet the answer if it serves what it is believed to, and else puts it back,
// with a smaller one of its option.
func (r *rates) tryWhole(ctx context.Context, one *rateRange) error {
	d, err := r.sustainsRate(ctx, one, one.Highest())
	if err != nil {
		return err
	}
	if r.found = d.Kept; r.found {
		r.choose(one, r.open)
		return nil
	}
	if r.outcomes[one.option].kind != broken {
		fewer := r.lower(one)
		heap.Push(&r.open, one)
		if fewer != nil {
			r.all = append(r.all, fewer)
			heap.Push(&r.open, fewer)
		}
	}
	r.served = r.open.served()
	return nil
}

// narrow simulates each fleet once, where another is known to serve a rate.
func (s *search) narrow(ctx context.Context, list []*rateRange, served float64) error {
	return judge.Each(ctx, list, func(ctx context.Context, r *rateRange) error {
		o, outcome := s.options[r.option], &s.outcomes[r.option]
		place := r.Next(served)
		v, err := s.Sustains(ctx, o, r.replicas, r.Rate(place))
		if words, failed := judge.Failure(err); failed {
			outcome.kind, outcome.words = broken, words
			return nil
		}
		if err != nil {
			return err
		}
		outcome.kind = simulated
		if v.Sustained {
			r.Kept = place
			return nil
		}
		r.Missed = place
		outcome.closest = max(outcome.closest, v.Trial.Kept.Mean)
		outcome.words = s.whyLost(o, r.replicas, v)
		return nil
	})
}

// lower notes that a fleet misses the SLO at the highest rate that it might have sustained. It
// returns a smaller fleet of the option if that may serve more now, which only large ones do: their
// replicas serve as much as one does alone.
func (s *search) lower(r *rateRange) *rateRange {
	settling := r.settling
	r.Missed, r.Kept, r.settling = r.Kept, r.Kept+1, true
	n := min(r.replicas-1, int(float64(r.replicas)*r.Rate(r.Kept)/r.Rate(r.Missed)))
	if settling || n < 1 {
		return nil
	}
	fewer := s.rateRange(r.option, n)
	fewer.Missed, fewer.Kept = r.Missed-1, r.Missed
	return fewer
}

// choose makes a fleet the answer, and notes that the others serve less.
func (s *search) choose(best *rateRange, others rateHeap) {
	for _, r := range others {
		s.outcomes[r.option].words = fmt.Sprintf("%s serve less than %s/s",
			units.Plural(r.replicas, "replica"), report.Figure(r.Rate(r.Missed)))
	}
	s.best = best.option
	s.outcomes[s.best].kind, s.outcomes[s.best].words = chosen, ""
	s.outcomes[s.best].replicas = best.replicas
}

// rateRange is a fleet with what is known of the highest rate that it sustains.
type rateRange struct {
	judge.RateGrid
	option, replicas int     // replicas leaves out spares
	price            float64 // of the fleet with the spares, in $/h
	settling         bool    // whether the fleet was simulated whole
}

// rateHeap is a heap.Interface with the fleet first that may sustain the highest rate: of equal
// ones, first the fleets whose rate is unknown, and then the cheapest.
type rateHeap []*rateRange

func (h rateHeap) Len() int { return len(h) }
func (h rateHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.Done() != b.Done() && a.Highest() == b.Highest() {
		return b.Done()
	}
	return cmp.Or(-cmp.Compare(a.Highest(), b.Highest()), cmp.Compare(a.price, b.price),
		cmp.Compare(a.option, b.option)) < 0
}
func (h rateHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *rateHeap) Push(x any)   { *h = append(*h, x.(*rateRange)) }

// Pop implements heap.Interface.
func (h *rateHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// unknown takes fleets from the heap that may sustain at least the rate served: up to atOnce.
func (h *rateHeap) unknown(served float64) []*rateRange {
	var list []*rateRange
	for len(*h) > 0 && len(list) < atOnce && !(*h)[0].Done() && (*h)[0].Highest() >= served {
		list = append(list, heap.Pop(h).(*rateRange))
	}
	return list
}

// served returns the highest rate that any fleet is believed to serve.
func (h rateHeap) served() float64 {
	most := 0.0
	for _, r := range h {
		most = max(most, r.Rate(r.Kept))
	}
	return most
}

// atOnce is how many options are simulated at the same time while the best is looked for. It does
// not depend on cores and workers, and so neither do the answer and the number of simulations.
const atOnce = 8
