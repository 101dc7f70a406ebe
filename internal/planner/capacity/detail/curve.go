package detail

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
)

// curve simulates the whole fleet below and above its load: its rate, its users, or a trace, wave
// or burst that is slower and faster. At the load itself it is the simulation that the answer
// shows.
func (f *Fleet) curve(ctx context.Context, requests int64) ([]answer.LoadPoint, error) {
	steady := f.Trials.File.Plan.Steady()
	loads := []float64{0.25, 0.5, 0.75, 1, 1.25, 1.5} // as shares of the asked load
	if steady {
		loads = []float64{0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5}
	}
	scenario, whole := f.part()
	list := make([]answer.LoadPoint, len(loads))
	group, ctx := errgroup.WithContext(ctx)
	for i, share := range loads {
		if !f.Trials.Shard.Mine(i) {
			continue
		}
		group.Go(func() error {
			s, rate, length := scenario, whole, requests
			var point answer.LoadPoint
			switch {
			case !steady:
				p := asked.Plan{Workload: s.Workload}
				if share != 1 {
					p.ScaleRate(share)
					length = int64(max(1, share) * float64(requests))
				}
				if point.Users = p.Workload.Arrivals.Users; point.Users == 0 {
					point.Share = share
				}
				s.Workload = p.Workload
			case share != 1:
				rate = asked.Round(share * whole)
			}
			if steady {
				point.Rate = f.Rate * rate / whole
			}
			t, err := f.Trials.Trial(ctx, s, rate, length)
			point.Kept, point.Met = t.All, t.Keeps()
			point.TTFT, point.TPOT = t.Latencies["p99_ttft_ms"], t.Latencies["p99_tpot_ms"]
			list[i] = point
			return err
		})
	}
	err := group.Wait()
	// Shares of a few users are the same number.
	return slices.CompactFunc(list, func(a, b answer.LoadPoint) bool {
		return a.Users > 0 && a.Users == b.Users
	}), err
}
