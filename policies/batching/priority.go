package batching

import "github.com/llmsim/llmsim/sim"

// NewPriority returns the scheduler of vLLM V1 with an order by key. The request with the lowest
// key comes first, and of equal keys the one that arrived first. When memory runs out, the last in
// order gives way. key is called once for each request, when it arrives.
//
// If displace is true, a waiting request takes the place of a running one that comes after it in
// order. If swap is true, sequences that give way move to host memory; otherwise they are computed
// again.
func NewPriority(limits Limits, key func(r *sim.Request) float64, displace,
	swap bool) (sim.Scheduler, error) {
	return newRanked(limits, ranked{rank: key}, displace, swap)
}
