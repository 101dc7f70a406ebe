package compare

import (
	"context"
	"maps"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
)

// addPaces makes two more runs of each variant with the first seed, in which steps are faster and
// slower than predicted.
func addPaces(ctx context.Context, trials []*trial, workers int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, t := range trials {
		fast, slow := stats.Factors(t.runs[0].Result.Evidence.Spread)
		group.Go(func() (err error) { t.fast, err = t.slowed(ctx, fast); return err })
		group.Go(func() (err error) { t.slow, err = t.slowed(ctx, slow); return err })
	}
	return group.Wait()
}

// slowed repeats the first run with a factor on the times of steps.
func (t *trial) slowed(ctx context.Context, factor float64) (*planner.Observation, error) {
	f, err := t.variant.Load()
	if err != nil {
		return nil, err
	}
	f.Scenario.Seed = t.runs[0].Simulation.Scenario.Seed
	stats.SlowDown(&f.Scenario, factor)
	return planner.Observe(ctx, f)
}

// rangeDifferences adds the ranges of the differences of one variant from the first.
func (c *Comparison) rangeDifferences(first, other *trial, figures []Figure) {
	shared := maps.Equal(constants(first), constants(other))
	a, b := c.responses(first), c.responses(other)
	for i, m := range c.measures() {
		f := &figures[i]
		if f.absent() {
			continue
		}
		noise := f.noise
		if math.IsInf(noise, 1) {
			noise = 0 // one run is all there is
		}
		span := stats.Difference(m.Metric, a[i], b[i], shared, f.Difference.Mean, noise)
		f.Range = &span
		f.Unsure = f.BeyondNoise && span.Low <= 0 && span.High >= 0
		f.Better = f.Better && !f.Unsure
	}
}

// responses returns how each measure of a variant moves with step times.
func (c *Comparison) responses(t *trial) []stats.Response {
	plain, fast, slow := newWindow(t.runs[0], c.WarmUp), newWindow(t.fast, c.WarmUp),
		newWindow(t.slow, c.WarmUp)
	var list []stats.Response
	for _, m := range c.measures() {
		list = append(list, stats.Response{
			Plain: m.of(plain), Fast: m.of(fast), Slow: m.of(slow),
			Spread: t.runs[0].Result.Evidence.Spread,
		})
	}
	return list
}

// server is an engine on an accelerator. Equal servers have the same constants behind their step
// times.
type server struct{ engine, accelerator string }

// constants returns the kinds of servers on which a variant runs.
func constants(t *trial) map[server]bool {
	all := map[server]bool{}
	for _, key := range t.runs[0].Simulation.Keys() {
		all[server{key.Engine, key.Accelerator}] = true
	}
	return all
}
