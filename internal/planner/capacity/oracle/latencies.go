package oracle

import (
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/sim"
)

// latencies returns the mean and the 99th percentile of each latency over the requests that were
// served, in milliseconds, by the names of results. The time per token is that of answers of more
// than one token.
func latencies(requests []planner.Request) map[string]float64 {
	ttft, e2e := make([]sim.Time, 0, len(requests)), make([]sim.Time, 0, len(requests))
	tpot := make([]sim.Time, 0, len(requests))
	for i := range requests {
		r := &requests[i]
		if r.Rejected {
			continue
		}
		ttft = append(ttft, r.TTFT)
		if !r.Cut {
			e2e = append(e2e, r.E2E)
		}
		if r.Output > 1 {
			tpot = append(tpot, r.TPOT)
		}
	}
	figures := map[string]float64{}
	for name, list := range map[string][]sim.Time{"ttft": ttft, "tpot": tpot, "e2el": e2e} {
		figures["mean_"+name+"_ms"], figures["p99_"+name+"_ms"] = spreadOf(list)
	}
	return figures
}

// spreadOf returns the mean and the 99th percentile, by the nearest rank, in milliseconds; 0 of an
// empty list. It sorts the list.
func spreadOf(list []sim.Time) (mean, p99 float64) {
	if len(list) == 0 {
		return 0, 0
	}
	slices.Sort(list)
	sum, n := 0.0, float64(len(list))
	for _, t := range list {
		sum += float64(Milliseconds(t))
	}
	return sum / n, Milliseconds(list[int(math.Ceil(0.99*n))-1])
}

// Milliseconds returns a time in milliseconds.
func Milliseconds(t sim.Time) float64 { return 1000 * t.Seconds() }
