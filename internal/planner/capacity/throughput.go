package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/units"
)

// throughputGoal is the fleet that serves the most requests.
type throughputGoal struct {
	fleetGoal
	all    []*rateRange
	open   rateHeap
	served float64 // the highest rate that any fleet is believed to serve
	whole  bool    // whether the fleets to try are simulated whole
	found  bool
}

func (s *throughputGoal) rules() []string {
	return []string{"where a fleet misses the SLO, it does so at a higher rate and with fewer " +
		"replicas"}
}

func (s *throughputGoal) describe(ctx context.Context, a *answer.Answer) error {
	err := s.fleetGoal.describe(ctx, a)
	if err == nil {
		a.Load = a.Chosen.Load
	}
	return err
}

// rateRanges returns the fleets among which the one that serves most is to be found: of each option
// the largest.
func (s *throughputGoal) rateRanges() []*rateRange {
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
func (s *throughputGoal) rateRange(i, n int) *rateRange {
	o := s.options[i]
	return &rateRange{RateGrid: judge.RateGrid{Kept: judge.Grid + 1,
		Ceiling: float64(n) * o.Ceiling},
		option: i, replicas: n, price: o.Cost(n + s.Spare)}
}

// find finds the fleet that serves the most requests a second within the limits of the goal.
func (s *throughputGoal) find(ctx context.Context) error {
	err := s.throughputAlone(ctx)
	if err == nil && s.best >= 0 {
		err = s.raise(ctx)
	}
	if err == nil && s.best >= 0 && s.Trials.File.Plan.Tunes() {
		err = s.tuneThroughput(ctx)
	}
	return err
}

// throughputAlone finds the fleet that serves the most at a rate that its replicas sustain alone.
// The highest bounds are narrowed until no bound is above what the best would serve if its replicas
// did what one does. That fleet is then simulated whole. Where it misses the SLO, less is known of
// it, and the search goes on.
func (s *throughputGoal) throughputAlone(ctx context.Context) error {
	s.best, s.outcomes = -1, make([]outcome, len(s.options))
	s.all = s.rateRanges()
	s.open = slices.Clone(s.all)
	heap.Init(&s.open)
	return judge.Search(ctx, s)
}

// raise looks for a fleet that serves more than the answer. A fleet shares its requests more evenly
// than chance does, and may sustain more than its replicas do alone: the answer is tried at higher
// rates until it misses the SLO for sure, and so is each other fleet whose bound is above that.
func (s *throughputGoal) raise(ctx context.Context) error {
	own := slices.IndexFunc(s.all, func(r *rateRange) bool {
		return r.option == s.best && r.replicas == s.outcomes[s.best].replicas
	})
	order := []*rateRange{s.all[own]}
	for i, r := range s.all {
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
func (s *throughputGoal) raiseOne(ctx context.Context, r *rateRange) error {
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
// serve most, at higher rates than the answer does.
func (s *throughputGoal) tuneThroughput(ctx context.Context) error {
	s.tuned = &answer.Tuned{Without: s.label(s.best), WithoutReplicas: s.size(),
		WithoutHourly: s.cost(), WithoutRate: s.Rate}
	bases := []int{s.best}
	for _, r := range s.all {
		if !slices.Contains(bases, r.option) && len(bases) < mostTuned && r.Highest() > s.Rate {
			bases = append(bases, r.option)
		}
	}
	t := &tuner{s.search}
	return t.coordinateSearch(ctx, mostTuningTurns, bases, t.changedAny, func(fresh []int,
		left func() bool) ([]int,
		error) {
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
				s.all = append(s.all, r)
			}
		}
		if s.best == before {
			return nil, nil
		}
		return []int{s.best}, nil
	})
}

// mostMissesInARow is at how many rates in a row a fleet misses the SLO for sure, but not by far,
// until it is not tried at higher ones: at one it may by chance.
const mostMissesInARow = 3

// replace makes a fleet the answer that serves more, at the rate of the search.
func (s *throughputGoal) replace(r *rateRange, place int) {
	was := &s.outcomes[s.best]
	was.kind, was.words = simulated, fmt.Sprintf("%s serve less than %s",
		units.Plural(was.replicas, "replica"), units.FigureOfRate(s.Rate))
	r.Kept, r.Missed, s.best = place, place-1, r.option
	outcome := &s.outcomes[s.best]
	outcome.kind, outcome.words, outcome.replicas = chosen, "", r.replicas
}

// sustainsRate decides whether the fleet keeps the SLO at a rate: simulated whole, with its spares
// down, over several seeds. If it does, that rate is the one of the search.
func (s *throughputGoal) sustainsRate(ctx context.Context, r *rateRange,
	rate float64) (judge.Decision, error) {
	before, outcome := s.Rate, &s.outcomes[r.option]
	s.Rate = rate
	d, err := s.Decide(ctx, s.options[r.option], r.replicas, s.options[r.option].Worst())
	if !d.Kept {
		s.Rate = before
	}
	if err = s.unlessBroken(r.option, err); outcome.kind == broken {
		return judge.Decision{Far: true}, err
	}
	outcome.closest = max(outcome.closest, d.Share)
	return d, err
}

// show adds what the fleets serve that serve most, of each accelerator and parallelism the best, up
// to mostShapes.
func (s *throughputGoal) show(ctx context.Context, a *answer.Answer) error {
	seen := map[string]bool{}
	slices.SortStableFunc(s.all, func(a, b *rateRange) int {
		return cmp.Or(-cmp.Compare(a.Highest(), b.Highest()), cmp.Compare(a.price, b.price),
			cmp.Compare(a.option, b.option))
	})
	for _, r := range s.all {
		o, n := s.options[r.option], r.replicas+s.Spare
		shape := o.Shape()
		if seen[shape] || len(a.Throughputs) == mostShapes || s.best < 0 {
			continue
		}
		seen[shape] = true
		if err := s.measure(ctx, r); err != nil {
			return err
		}
		if r.Kept <= judge.Grid && s.outcomes[r.option].kind != broken {
			a.Throughputs = append(a.Throughputs, answer.Throughput{Label: s.label(r.option),
				Replicas: n, Hourly: o.Cost(n), Watts: float64(n) * o.Watts(),
				Rate: r.Rate(r.Kept), Grade: o.Grade})
		}
	}
	slices.SortStableFunc(a.Throughputs, func(a, b answer.Throughput) int {
		return -cmp.Compare(a.Rate, b.Rate)
	})
	return nil
}

// measure simulates another fleet than the answer whole, at rates up to the answer's, until the
// highest is known that it serves. The first rate is the one that its replicas serve alone.
func (s *throughputGoal) measure(ctx context.Context, r *rateRange) error {
	if r.option == s.best && r.replicas == s.outcomes[s.best].replicas {
		return nil
	}
	rate := s.Rate
	defer func() { s.Rate = rate }()
	place, step := min(r.Kept, r.Missed+1), 1
	r.Missed, r.Kept = r.Above(rate), judge.Grid+1
	for ; !r.Done() && s.outcomes[r.option].kind != broken; step *= 2 {
		if place <= r.Missed || place >= r.Kept {
			place = (r.Missed + r.Kept) / 2
		}
		d, err := s.sustainsRate(ctx, r, r.Rate(place))
		switch {
		case err != nil:
			return err
		case d.Kept:
			r.Kept = place
			place -= step
		default:
			r.Missed = place
			place += step
		}
	}
	return nil
}

// Next takes the fleets that may serve the most, or else the one that is believed to.
func (s *throughputGoal) Next() []*rateRange {
	if s.found || len(s.open) == 0 || s.open[0].Highest() <= 0 {
		return nil
	}
	some := s.open.unknown(s.served)
	if s.whole = len(some) == 0; s.whole {
		some = []*rateRange{heap.Pop(&s.open).(*rateRange)}
	}
	return some
}

// Try narrows the bounds of fleets, or simulates one whole.
func (s *throughputGoal) Try(ctx context.Context, some []*rateRange) error {
	if s.whole {
		return s.tryWhole(ctx, some[0])
	}
	if err := s.narrow(ctx, some); err != nil {
		return err
	}
	for _, one := range some {
		if s.outcomes[one.option].kind != broken {
			s.served = max(s.served, one.Rate(one.Kept))
			heap.Push(&s.open, one)
		}
	}
	return nil
}

// tryWhole makes a fleet the answer if it serves what it is believed to, and else puts it back,
// with a smaller one of its option.
func (s *throughputGoal) tryWhole(ctx context.Context, one *rateRange) error {
	d, err := s.sustainsRate(ctx, one, one.Highest())
	if err != nil {
		return err
	}
	if s.found = d.Kept; s.found {
		s.choose(one)
		return nil
	}
	if s.outcomes[one.option].kind != broken {
		fewer := s.lower(one)
		heap.Push(&s.open, one)
		if fewer != nil {
			s.all = append(s.all, fewer)
			heap.Push(&s.open, fewer)
		}
	}
	s.served = s.open.served()
	return nil
}

// narrow simulates each fleet once, where another is known to serve a rate.
func (s *throughputGoal) narrow(ctx context.Context, list []*rateRange) error {
	return judge.Each(ctx, list, func(ctx context.Context, r *rateRange) error {
		o, outcome := s.options[r.option], &s.outcomes[r.option]
		place := r.Next(s.served)
		v, err := s.Sustains(ctx, o, r.replicas, r.Rate(place))
		if err = s.unlessBroken(r.option, err); err != nil || outcome.kind == broken {
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
func (s *throughputGoal) lower(r *rateRange) *rateRange {
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
func (s *throughputGoal) choose(best *rateRange) {
	for _, r := range s.open {
		s.outcomes[r.option].words = fmt.Sprintf("%s serve less than %s",
			units.Plural(r.replicas, "replica"), units.FigureOfRate(r.Rate(r.Missed)))
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
