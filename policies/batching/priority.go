package batching

import "github.com/llmsim/llmsim/sim"

// NewPriority returns the scheduler of vLLM V1 with an order of your own: the request with the
// lowest key first, of equals the one that arrived first; when memory runs out the last in order
// gives way. The key of a request is asked when it arrives.
//
// displace says that a request that waits takes the place of one that runs and is behind it in
// order; swap that sequences that give way move to host memory.
func NewPriority(limits Limits, key func(r *sim.Request) float64, displace,
	swap bool) (sim.Scheduler, error) {
	return newRanked(limits, ranked{rank: key}, displace, swap)
}
