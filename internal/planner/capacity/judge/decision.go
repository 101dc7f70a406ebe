package judge

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
)

// The runs of a whole fleet whose requests are pooled: two for a probability that is shown, and up
// to twelve for a decision, until the interval of the share that keeps the SLO is clear of its
// target, or that many requests are pooled.
const (
	FewSeeds    = 2
	chanceSeeds = 4 // for a probability
	MostSeeds   = 12
	mostPooled  = 200_000
)

// Keeps reports whether a fleet of n replicas of o, spares down, keeps the SLO where predictions
// are wrong by some factors, over the pooled requests of at most that many seeds, and the share of
// requests that do.
func (j *Judge) Keeps(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors, seeds int) (bool, float64, error) {
	if _, taken := o.Interrupted(); taken {
		t, err := j.KeepsOnSpotOver(ctx, o, n, wrong, j.SeedsBelow(min(seeds, chanceSeeds)))
		return t.Keeps(), t.Kept.Mean, err
	}
	runs, ok, err := j.Pool(ctx, o, n, wrong, seeds)
	if err != nil {
		return false, 0, err
	}
	return ok, SharePooled(runs).Mean, nil
}

// Decision is whether a fleet keeps the SLO. It is sure where the share of requests that do is
// clear of its target, or latencies grow, and the fleet is far from it where the share is below the
// target by more than farBelow. Missing is by how much it is below; 1 where that is not known.
type Decision struct {
	Kept, Sure, Far bool
	Share, Missing  float64
}

const farBelow = 0.05

// Decide is Keeps over the number of seeds that a decision takes.
func (j *Judge) Decide(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors) (Decision, error) {
	if _, taken := o.Interrupted(); taken {
		ok, share, err := j.Keeps(ctx, o, n, wrong, j.Seeds)
		return Decision{Kept: ok, Sure: true, Share: share, Missing: 1}, err
	}
	runs, ok, err := j.Pool(ctx, o, n, wrong, j.Seeds)
	if err != nil {
		return Decision{}, err
	}
	last, share := &runs[len(runs)-1], SharePooled(runs)
	missing := last.Target - share.Mean
	return Decision{Kept: ok, Share: share.Mean, Missing: missing, Far: missing > farBelow,
		Sure: last.Growing || runs[0].Hopeless() || share.Excludes(last.Target)}, nil
}

// Pool simulates a fleet with one seed after another until it is clear whether it keeps the SLO,
// and returns the runs. The fleet misses the SLO if latencies grow in one of the runs, or if a
// second run without a miss would not make up for the requests of the first that miss it.
func (j *Judge) Pool(ctx context.Context, o *candidate.Option, n int, wrong candidate.ErrorFactors,
	seeds int) (runs []Trial, kept bool, err error) {
	return PoolOf(j.Trials.File.Plan.Seeds(seeds), func(seed uint64) (Trial, int64, error) {
		return j.Simulate(ctx, o, n, wrong, seed)
	})
}

// PoolOf pools what run simulates with each of at most that many seeds. A fleet is taken to keep
// the SLO after four draws at least: the cheapest of many fleets may have had two lucky ones.
func PoolOf(seeds int, run func(seed uint64) (Trial, int64, error)) (runs []Trial,
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
		kept, least := g.Kept.Mean >= g.Target-1e-12, FewSeeds
		if kept {
			least = chanceSeeds
		}
		if seed+1 == seeds || requests >= mostPooled && seed+1 >= FewSeeds ||
			seed+1 >= least && g.Kept.Excludes(g.Target) {
			return runs, kept, nil
		}
	}
	return runs, false, nil
}

// Confirms reports whether a fleet keeps the SLO with draws of the load that decided nothing, all
// errors of predictions as late as the asked confidence demands. A recorded load has no other
// draws.
func (j *Judge) Confirms(ctx context.Context, o *candidate.Option, n int) (bool, error) {
	seeds := j.Trials.File.Plan.Seeds(chanceSeeds)
	if seeds == 1 {
		return true, nil
	}
	if _, taken := o.Interrupted(); taken {
		var fresh []uint64
		for seed := range seeds {
			fresh = append(fresh, uint64(MostSeeds+seed))
		}
		t, err := j.KeepsOnSpotOver(ctx, o, n, o.Worst(), fresh)
		return t.Keeps(), err
	}
	_, kept, err := PoolOf(seeds, func(seed uint64) (Trial, int64, error) {
		return j.Simulate(ctx, o, n, o.Worst(), MostSeeds+seed)
	})
	return kept, err
}

// SharePooled returns the share of the requests of some runs that keep the part of the SLO that
// binds: of the last run where latencies grow in it.
func SharePooled(runs []Trial) stats.Interval {
	var all [][]asked.Clause
	for i := range runs {
		if runs[i].Growing {
			return runs[i].Kept
		}
		all = append(all, runs[i].Clauses)
	}
	return asked.Binding(asked.Pooled(all)).Kept
}

// Few returns the most runs that a probability rests on. Days of a trace differ more than draws of
// one load do, so a trace that is resampled has the number of runs of a decision.
func (j *Judge) Few() int {
	if j.Trials.File.Plan.Workload.Resampled() {
		return j.Seeds
	}
	return min(j.Seeds, chanceSeeds)
}
