package detail

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
)

// curve simulates the whole fleet below and above its load; nil where the load has no rate to
// change. At the load itself it is the simulation that the answer shows.
func (f *Fleet) curve(ctx context.Context, requests int64) ([]answer.LoadPoint, error) {
	if !f.Trials.File.Plan.Steady() {
		return nil, nil
	}
	loads := []float64{0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5} // as shares of the asked load
	scenario, whole := f.part()
	list := make([]answer.LoadPoint, len(loads))
	group, ctx := errgroup.WithContext(ctx)
	for i, share := range loads {
		if !f.Trials.Shard.Mine(i) {
			continue
		}
		group.Go(func() error {
			rate := whole
			if share != 1 {
				rate = asked.Round(share * whole)
			}
			t, err := f.Trials.Trial(ctx, scenario, rate, requests)
			list[i] = answer.LoadPoint{Rate: f.Rate * rate / whole, Kept: t.All, Met: t.Keeps(),
				TTFT: t.Latencies["p99_ttft_ms"], TPOT: t.Latencies["p99_tpot_ms"]}
			return err
		})
	}
	return list, group.Wait()
}
