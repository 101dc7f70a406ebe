package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/stats"
)

// The runs of a whole fleet whose requests are pooled: two for a probability that is shown, and up
// to twelve for a decision, until the interval of the share that keeps the SLO is clear of its
// target, or that many requests are pooled.
const (
	fewSeeds    = 2
	chanceSeeds = 4 // for a probability
	mostSeeds   = 12
	mostPooled  = 200_000
)

// keeps reports whether a fleet of n replicas of o, spares down, keeps the SLO where predictions
// are wrong by some factors, over the pooled requests of at most that many seeds, and the share of
// requests that do.
func (s *judge) keeps(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors, seeds int) (bool, float64, error) {
	if _, taken := o.Interrupted(); taken {
		t, err := s.keepsOnSpotOver(ctx, o, n, wrong, s.seedsBelow(min(seeds, chanceSeeds)))
		return t.Keeps(), t.Kept.Mean, err
	}
	runs, ok, err := s.pool(ctx, o, n, wrong, seeds)
	if err != nil {
		return false, 0, err
	}
	return ok, sharePooled(runs).Mean, nil
}

// decision is whether a fleet keeps the SLO. It is sure where the share of requests that do is
// clear of its target, or latencies grow, and the fleet is far from it where the share is below the
// target by more than farBelow. Missing is by how much it is below; 1 where that is not known.
type decision struct {
	kept, sure, far bool
	share, missing  float64
}

const farBelow = 0.05

// decide is keeps over as many seeds as a decision takes.
func (s *judge) decide(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors) (decision, error) {
	if _, taken := o.Interrupted(); taken {
		ok, share, err := s.keeps(ctx, o, n, wrong, s.seeds)
		return decision{kept: ok, sure: true, share: share, missing: 1}, err
	}
	runs, ok, err := s.pool(ctx, o, n, wrong, s.seeds)
	if err != nil {
		return decision{}, err
	}
	last, share := &runs[len(runs)-1], sharePooled(runs)
	missing := last.Target - share.Mean
	return decision{kept: ok, share: share.Mean, missing: missing, far: missing > farBelow,
		sure: last.Growing || runs[0].Hopeless() || share.Excludes(last.Target)}, nil
}

// pool simulates a fleet with one seed after another until it is clear whether it keeps the SLO,
// and returns the runs. The fleet misses the SLO if latencies grow in one of the runs, or if a
// second run without a miss would not make up for the requests of the first that miss it.
func (s *judge) pool(ctx context.Context, o *candidate.Option, n int, wrong candidate.ErrorFactors,
	seeds int) (runs []oracle.Trial, kept bool, err error) {
	return poolOf(s.trials.File.Plan.Seeds(seeds), func(seed uint64) (oracle.Trial, int64, error) {
		return s.simulate(ctx, o, n, wrong, seed)
	})
}

// poolOf pools what run simulates with each of at most that many seeds. A fleet is taken to keep
// the SLO after four draws at least: the cheapest of many fleets may have had two lucky ones.
func poolOf(seeds int, run func(seed uint64) (oracle.Trial, int64, error)) (runs []oracle.Trial,
	kept bool, err error) {
	var all [][]asked.Clause
	var requests int64
	for seed := range seeds {
		t, more, err := run(uint64(seed))
		if err != nil {
			return nil, false, err
		}
		if runs = append(runs, t); t.Growing || seed == 0 && t.Hopeless() {
			return runs, false, nil
		}
		all = append(all, t.Clauses)
		requests += more
		g := asked.Binding(asked.Pooled(all))
		kept, least := g.Kept.Mean >= g.Target-1e-12, fewSeeds
		if kept {
			least = chanceSeeds
		}
		if seed+1 == seeds || requests >= mostPooled && seed+1 >= fewSeeds ||
			seed+1 >= least && g.Kept.Excludes(g.Target) {
			return runs, kept, nil
		}
	}
	return runs, false, nil
}

// sharePooled returns the share of the requests of some runs that keep the part of the SLO that
// binds: of the last run where latencies grow in it.
func sharePooled(runs []oracle.Trial) stats.Interval {
	var all [][]asked.Clause
	for i := range runs {
		if runs[i].Growing {
			return runs[i].Kept
		}
		all = append(all, runs[i].Clauses)
	}
	return asked.Binding(asked.Pooled(all)).Kept
}

// few returns the most runs that a probability rests on. Days of a trace differ more than draws of
// one load do, so a trace that is resampled has as many runs as for a decision.
func (s *judge) few() int {
	if s.trials.File.Plan.Workload.Resampled() {
		return s.seeds
	}
	return min(s.seeds, chanceSeeds)
}
