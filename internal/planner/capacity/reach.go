package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios/evidence"

	"golang.org/x/sync/errgroup"
)

// grid is the number of rates at which the highest that a fleet sustains is looked for, from its
// bound down to the lightest load: 3 % apart. All searches use the same rates, so that what one
// finds does not depend on what others are compared with.
const grid = 128

// atOnce is how many options are simulated at the same time while the best is looked for. It does
// not depend on cores and workers, and so neither do the answer and the number of simulations.
const atOnce = 8

// reach is what is known of the highest rate that a fleet sustains.
type reach struct {
	option, replicas int // replicas leaves out spares
	// kept and missed are places in the grid: the fleet sustains the rate at kept, and not that at
	// missed. Place 0 is the bound, place grid+1 no load at all.
	kept, missed int
	ceiling      float64 // of the fleet, in requests/s
	last         verdict // the last that was missed
}

// rate returns the rate of the fleet at a place in the grid.
func (r *reach) rate(place int) float64 {
	if place > grid {
		return 0
	}
	return round(r.ceiling * math.Pow(lightLoad, float64(place)/grid))
}

// next returns the place in the grid to simulate: the middle of what is not known, but no rate
// below served, which another fleet is known to serve; a fleet that misses that has lost. It is
// r.missed where all that is not known is below served.
func (r *reach) next(served float64) int {
	place := (r.kept + r.missed) / 2
	for place > r.missed && r.rate(place) < served {
		place--
	}
	return place
}

// done reports whether the highest rate is known.
func (r *reach) done() bool { return r.kept-r.missed == 1 }

// reaches returns the fleets among which the one that serves most is to be found: of each option
// the largest.
func (s *search) reaches() []*reach {
	var list []*reach
	for i, o := range s.options {
		n := s.allowed(o) - s.spare
		switch {
		case o.unfit() != "":
			s.fates[i] = fate{kind: unfit}
		case o.tight:
			s.fates[i] = fate{kind: outOfReach, closest: o.alone}
		case n < 1:
			s.fates[i] = fate{kind: beyond}
		default:
			s.fates[i] = fate{kind: outdone}
			list = append(list, &reach{option: i, replicas: n, kept: grid + 1,
				ceiling: float64(n) * o.ceiling})
		}
	}
	return list
}

// reachFarthest finds the fleet that serves the most requests a second within the limits of the
// goal. Of the fleets whose bounds are highest, those bounds are narrowed, until none is above what
// the best is known to serve. It returns what is known of each.
func (s *search) reachFarthest(ctx context.Context) ([]*reach, error) {
	s.best, s.fates = -1, make([]fate, len(s.options))
	all := s.reaches()
	open := reachHeap(append([]*reach(nil), all...))
	heap.Init(&open)
	var best *reach
	served := 0.0 // the highest rate that any fleet is known to serve
	for len(open) > 0 {
		var now []*reach
		for len(open) > 0 && len(now) < atOnce {
			r := heap.Pop(&open).(*reach)
			if r.next(served) > r.missed {
				now = append(now, r)
			} else {
				s.fates[r.option].words = fmt.Sprintf("%s serve less than %s/s",
					several(r.replicas, "replica"), report.Figure(r.rate(r.missed)))
			}
		}
		if err := s.narrow(ctx, now, served); err != nil {
			return nil, err
		}
		for _, r := range now {
			served = max(served, r.rate(r.kept))
			switch {
			case s.fates[r.option].kind == broken:
			case !r.done():
				heap.Push(&open, r)
			case r.kept <= grid && (best == nil || s.better(r, best)):
				best = r
			}
		}
	}
	if best != nil {
		s.best, s.rate = best.option, best.rate(best.kept)
		s.fates[s.best].kind, s.fates[s.best].words = chosen, ""
		s.fates[s.best].replicas = best.replicas
	}
	return all, nil
}

// better reports whether r serves more than best, or as much for less.
func (s *search) better(r, best *reach) bool {
	cost := func(r *reach) float64 {
		return float64(r.replicas+s.spare) * s.options[r.option].price
	}
	return cmp.Or(-cmp.Compare(r.rate(r.kept), best.rate(best.kept)),
		cmp.Compare(cost(r), cost(best)), cmp.Compare(r.option, best.option)) < 0
}

// narrow simulates each fleet once, where another is known to serve a rate.
func (s *search) narrow(ctx context.Context, list []*reach, served float64) error {
	return each(ctx, list, func(ctx context.Context, r *reach) error {
		o, fate := s.options[r.option], &s.fates[r.option]
		place := r.next(served)
		v, err := s.sustains(ctx, o, r.replicas, r.rate(place))
		if words, failed := failure(err); failed {
			fate.kind, fate.words = broken, words
			return nil
		}
		if err != nil {
			return err
		}
		fate.kind = simulated
		if v.sustained {
			r.kept = place
			return nil
		}
		r.missed, r.last = place, v
		fate.closest, fate.words = max(fate.closest, v.trial.Kept.Mean), s.lost(o, r.replicas, v)
		return nil
	})
}

// sustains decides whether n replicas of o sustain a rate: by one of them where they are alike,
// else by the whole fleet.
func (s *search) sustains(ctx context.Context, o *option, n int, rate float64) (verdict, error) {
	if _, taken := o.interrupted(); taken {
		rate = round(rate)
		t, err := s.withstands(ctx, o, n, rate, o.slow)
		return verdict{rate: rate / float64(n), sustained: t.kept(), trial: t}, err
	}
	if s.trials.file.Plan.divisible() {
		return s.trials.sustains(ctx, o, rate/float64(n))
	}
	rate = round(rate)
	t, _, err := s.wholeAt(ctx, o, n, rate, o.slow, 0)
	return verdict{rate: rate / float64(n), sustained: t.kept(), trial: t}, err
}

// each calls f for all of a list at the same time, and returns the first error.
func each[T any](ctx context.Context, list []T, f func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, v := range list {
		group.Go(func() error { return f(ctx, v) })
	}
	return group.Wait()
}

// reachHeap is a heap.Interface with the fleet first whose highest rate may be the highest.
type reachHeap []*reach

func (h reachHeap) Len() int { return len(h) }
func (h reachHeap) Less(i, j int) bool {
	return cmp.Or(-cmp.Compare(h[i].rate(h[i].missed), h[j].rate(h[j].missed)),
		cmp.Compare(h[i].option, h[j].option)) < 0
}
func (h reachHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *reachHeap) Push(x any)   { *h = append(*h, x.(*reach)) }

// Pop implements heap.Interface.
func (h *reachHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// Reach is what is known of the requests that the largest fleet of an option serves.
type Reach struct {
	Label    string  `json:"label"`
	Replicas int     `json:"replicas"` // with the spares
	Hourly   float64 `json:"dollars_per_hour"`
	Watts    float64 `json:"peak_watts"`
	// Rate is what the fleet is known to serve, in requests/s, and Bound what it does not.
	Rate  float64 `json:"rate"`
	Bound float64 `json:"rate_bound"`
	// Grade says what the predictions rest on.
	Grade evidence.Grade `json:"grade"`
}

// told returns what is known of the fleets that serve most, of each accelerator and parallelism
// the best, up to mostShapes.
func (s *search) told(all []*reach) []Reach {
	var list []Reach
	seen := map[string]bool{}
	slices.SortStableFunc(all, func(a, b *reach) int {
		return cmp.Or(-cmp.Compare(a.rate(a.missed), b.rate(b.missed)),
			cmp.Compare(a.option, b.option))
	})
	for _, r := range all {
		o := s.options[r.option]
		if shape := o.shape(); seen[shape] || len(list) == mostShapes {
			continue
		} else {
			seen[shape] = true
		}
		n := r.replicas + s.spare
		list = append(list, Reach{Label: s.label(r.option), Replicas: n,
			Hourly: float64(n) * o.price, Watts: float64(n) * o.watts,
			Rate: r.rate(r.kept), Bound: r.rate(r.missed), Grade: o.grade})
	}
	return list
}
