package capacity

import (
	"cmp"
	"container/heap"

	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

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
