package tuning

import (
	"context"
	"regexp"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// trial is the runs of an option, one for each seed.
type trial struct {
	option
	runs []run
	// reason says why the option cannot run; empty where it did.
	reason string
}

// run is what is kept of a simulation.
type run struct {
	loss     float64 // the goal's
	figures  [figureCount]float64
	met      bool // whether the SLO was
	sent     int64
	peak     int // largest batch
	evidence evidence.Evidence
	// setup says in words what served, load who asked.
	setup, load string
}

// loss returns the mean loss.
func (t *trial) loss() float64 {
	sum := 0.0
	for i := range t.runs {
		sum += t.runs[i].loss
	}
	return sum / float64(len(t.runs))
}

// same reports whether all runs of two trials came to the same, to the last bit.
func same(a, b *trial) bool {
	for i := range a.runs {
		if a.runs[i].loss != b.runs[i].loss || a.runs[i].figures != b.runs[i].figures {
			return false
		}
	}
	return true
}

// difference returns how much larger a's loss is than b's, under the same seeds.
func difference(a, b trial, confidence float64) stats.Interval {
	list := make([]float64, len(a.runs))
	for i := range a.runs {
		list[i] = a.runs[i].loss - b.runs[i].loss
	}
	return stats.Mean(list, confidence)
}

// measure runs options for a number of requests with each of some seeds, on all workers.
func (t *tuner) measure(ctx context.Context, options []option, requests int64,
	seeds []uint64) ([]trial, error) {
	trials := make([]trial, len(options))
	for i, o := range options {
		trials[i] = trial{option: o, runs: make([]run, len(seeds))}
	}
	reasons := make([]string, len(options)*len(seeds))
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range t.Workers {
		group.Go(func() error {
			clocks := scenarios.NewClocks()
			for {
				n := int(next.Add(1)) - 1
				if n >= len(reasons) {
					return nil
				}
				one, seed := &trials[n/len(seeds)], n%len(seeds)
				var err error
				one.runs[seed], err = t.run(ctx, one.option, requests, seeds[seed], clocks)
				if scenarios.IsInputError(err) {
					reasons[n], err = withoutLocation(err), nil
				}
				if err != nil {
					return err
				}
			}
		})
	}
	err := group.Wait()
	for n := len(reasons) - 1; n >= 0; n-- {
		if reasons[n] != "" {
			trials[n/len(seeds)].reason = reasons[n]
		}
	}
	t.runs += len(reasons)
	return trials, err
}

// withoutLocation returns what an error says, without the flag or the line that it names.
func withoutLocation(err error) string {
	return regexp.MustCompile(`^(--set \S+|\S+:[0-9]+): `).ReplaceAllString(err.Error(), "")
}

// run simulates an option.
func (t *tuner) run(ctx context.Context, o option, requests int64, seed uint64,
	clocks *scenarios.Clocks) (run, error) {
	if err := ctx.Err(); err != nil {
		return run{}, err
	}
	f, err := t.load(o.settings(t.menu)...)
	if err != nil {
		return run{}, err
	}
	f.Clocks = clocks
	f.Scenario.Seed = t.seed + seed
	if w := &f.Scenario.Workload; w.Requests == 0 || w.Requests > requests {
		w.Requests = requests
	}
	seen, err := planner.Observe(ctx, f)
	if err != nil {
		return run{}, err
	}
	if t.Ran != nil {
		t.Ran()
	}
	r := seen.Result
	return run{loss: t.goal.loss(seen), figures: figuresOf(r), met: r.SLOMet, sent: r.Sent(),
		peak: r.PeakBatch, evidence: r.Evidence, setup: r.Setup, load: r.Load}, nil
}
