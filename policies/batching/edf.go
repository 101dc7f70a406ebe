package batching

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// NewEDF returns the scheduler of vLLM V1 with the earliest deadline first (Liu and Layland, JACM
// 1973). Requests without a deadline come last. displace and swap mean the same as in NewPriority.
func NewEDF(limits Limits, displace, swap bool) (sim.Scheduler, error) {
	rank := func(r *sim.Request) float64 {
		if r.Deadline == 0 {
			return math.Inf(1)
		}
		return float64(r.Deadline)
	}
	return newRanked(limits, ranked{rank: rank}, displace, swap)
}
