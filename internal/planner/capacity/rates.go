package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"

	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// rates is fleets by the highest rate that they may serve.
type rates struct {
	*search
	all    []*rateRange
	open   rateHeap
	served float64 // the highest rate that any fleet is believed to serve
	whole  bool    // whether the fleets to try are simulated whole
	found  bool
}

// Next takes the fleets of which it is not known whether they serve the most, or where there are
// none, the one that is believed to.
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
		if words, failed := oracle.Failure(err); failed {
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
// ones, those of which that is not known, and then the cheapest.
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

// unknown takes fleets from the heap of which it is not known whether they sustain more than served
// or as much: up to atOnce.
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
