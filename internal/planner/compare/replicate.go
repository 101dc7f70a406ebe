package compare

import (
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/sim"
)

// trial is the runs of one variant.
type trial struct {
	variant Variant
	tree    tree
	runs    []*planner.Observation
	page    page.Run
	// fast and slow are the first run with steps as fast and as slow as they are in one case of ten
	// each; nil if they were not asked for.
	fast, slow *planner.Observation
}

// replicate runs all variants, each with the same seeds. If two seeds give the same requests and
// results in every variant, it keeps one run of each, because more equal runs are no evidence.
func replicate(ctx context.Context, trials []*trial, seed uint64, o Options) error {
	const probe = 2
	if err := replicateFrom(ctx, trials, seed, 0, min(probe, o.Replications),
		o.Workers); err != nil {
		return err
	}
	drawn := func(t *trial) bool {
		return len(t.runs) > 1 && !slices.Equal(t.runs[0].Requests, t.runs[1].Requests)
	}
	if !slices.ContainsFunc(trials, drawn) {
		for _, t := range trials {
			t.runs = t.runs[:1]
		}
		return nil
	}
	return replicateFrom(ctx, trials, seed, probe, o.Replications, o.Workers)
}

// replicateFrom runs the replications first to last-1 of all variants.
func replicateFrom(ctx context.Context, trials []*trial, seed uint64, first, last,
	workers int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, t := range trials {
		t.runs = append(t.runs, make([]*planner.Observation, last-first)...)
		for r := first; r < last; r++ {
			group.Go(func() error {
				if err := t.replication(ctx, r, seed); err != nil {
					return fmt.Errorf("%s: %w", t.variant.Label, err)
				}
				return nil
			})
		}
	}
	return group.Wait()
}

func (t *trial) replication(ctx context.Context, r int, seed uint64) error {
	f, err := t.variant.Load()
	if err != nil {
		return err
	}
	f.Scenario.Seed = seed + uint64(r)
	var others []sim.Observer
	sample := page.NewSample(page.SampleSize)
	if r == 0 {
		others = append(others, sample)
	}
	if t.runs[r], err = planner.Observe(ctx, f, others...); err != nil {
		return err
	}
	if r == 0 {
		t.page = page.Run{Name: t.variant.Label, Result: t.runs[0].Result, Sample: sample,
			Steps: t.runs[0].Simulation.Steps()}
	}
	return nil
}

// met returns the share of the runs that meet the SLO.
func (t *trial) met() float64 {
	n := 0.0
	for _, run := range t.runs {
		if run.Result.SLOMet {
			n++
		}
	}
	return n / float64(len(t.runs))
}

// warmUp finds how many requests at the start are not typical, in the mean over the replications
// (Welch's averaging).
func (t *trial) warmUp() (drop int, settled bool) {
	n := math.MaxInt
	for _, run := range t.runs {
		n = min(n, run.Steady())
	}
	ttft, tpot := make([]float64, n), make([]float64, n)
	for _, run := range t.runs {
		for i := range n {
			ttft[i] += run.Requests[i].TTFT.Milliseconds()
			tpot[i] += run.Requests[i].TPOT.Milliseconds()
		}
	}
	first, settledTTFT := stats.WarmUp(ttft)
	pace, settledTPOT := stats.WarmUp(tpot)
	return max(first, pace), settledTTFT && settledTPOT
}
