package judge

import (
	"context"
	"math"

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
	if o.IsSpot() {
		t, err := j.KeepsOnSpotOver(ctx, o, n, wrong, j.SeedsBelow(min(seeds, chanceSeeds)))
		return t.Keeps(), t.Kept.Mean, err
	}
	runs, ok, err := j.Pool(ctx, o, n, wrong, seeds)
	if err != nil {
		return false, 0, err
	}
	return ok, SharePooled(runs).Mean, nil
}

// FindLeast finds the least number of replicas of an option that keeps the SLO. On the way, one run
// that clearly keeps it is enough; the number that is found keeps it over several.
func (j *Judge) FindLeast(ctx context.Context, o *candidate.Option, l Least,
	keeps func(n int) (bool, error)) (int, error) {
	if o.IsSpot() {
		return FindLeast(l, keeps, keeps)
	}
	return FindLeast(l, func(n int) (bool, error) {
		if ok, err := j.ClearlyKeeps(ctx, o, n); ok || err != nil {
			return ok, err
		}
		return keeps(n)
	}, keeps)
}

// ClearlyKeeps reports whether one run shows that n replicas keep the SLO.
func (j *Judge) ClearlyKeeps(ctx context.Context, o *candidate.Option, n int) (bool, error) {
	t, _, err := j.Simulate(ctx, o, n, o.Worst(), 0)
	return err == nil && t.Keeps() && t.Kept.Excludes(t.Target), err
}

// FindLeast finds the least number that keeps the SLO: on the way by a test that may be rougher
// than the one that the number must pass.
func FindLeast(l Least, rough, keeps func(n int) (bool, error)) (int, error) {
	found, err := l.Find(rough)
	if err != nil || found == 0 || found == l.High {
		return found, err
	}
	if ok, err := keeps(found); ok || err != nil {
		return found, err
	}
	l.First, l.Low = min(found+l.Step, max(l.Most, found)), found
	return l.Find(keeps)
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
	if o.IsSpot() {
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
	least := chanceSeeds
	if j.Trials.Rough {
		least = FewSeeds
	}
	return pool(least, j.Trials.File.Plan.Seeds(seeds), func(seed uint64) (Trial, int64, error) {
		return j.Simulate(ctx, o, n, wrong, seed)
	})
}

// PoolOf pools what run simulates with each of at most that many seeds. A fleet is taken to keep
// the SLO after four draws at least: the cheapest of many fleets may have had two lucky ones.
func PoolOf(seeds int, run func(seed uint64) (Trial, int64, error)) (runs []Trial,
	kept bool, err error) {
	return pool(chanceSeeds, seeds, run)
}

// pool is PoolOf where a fleet is taken to keep the SLO after that many draws at least.
func pool(least, seeds int, run func(seed uint64) (Trial, int64, error)) (runs []Trial,
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
		kept := g.Kept.Mean >= g.Target-1e-12
		if seed+1 == seeds || requests >= mostPooled && seed+1 >= FewSeeds ||
			seed+1 >= FewSeeds && (!kept || seed+1 >= least) && g.Kept.Excludes(g.Target) {
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
	if o.IsSpot() {
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

// LightLoad is the share of the bound of the rate at which requests hardly meet each other. An SLO
// that is missed there is missed at any rate.
const LightLoad = 1.0 / 64

// Fewest returns the least number of replicas that could sustain the load, by the bounds.
func (j *Judge) Fewest(o *candidate.Option) int {
	return max(int(o.Least), o.Always(), o.Based()+1, int(math.Ceil(j.Rate/o.Ceiling)))
}

// Most returns the largest number of replicas to consider: the number that there are accelerators
// for, or the number at which the load of each is light.
func (j *Judge) Most(o *candidate.Option) int {
	n := max(o.Based()+1, int(math.Ceil(j.Rate/(o.Ceiling*LightLoad))))
	if j.Rate == 0 {
		n = max(int(float64(o.Least)/LightLoad), j.Trials.File.Plan.Workload.Arrivals.Users)
	}
	return min(n, j.Allowed(o)-j.Spare)
}

// Allowed returns the largest number of replicas or groups of an option, spares included, for which
// accelerators, budget and power suffice; unbounded if nothing limits them.
func (j *Judge) Allowed(o *candidate.Option) int {
	n := candidate.Unbounded
	for _, offer := range o.Offers() {
		if offer.Count == 0 {
			continue
		}
		left := offer.Count - o.Accelerators(offer, o.Based())
		if each := o.Accelerators(offer, o.Based()+1) - o.Accelerators(offer, o.Based()); left < 0 {
			n = 0
		} else if each > 0 {
			n = min(n, o.Based()+left/each)
		}
	}
	g := &j.Trials.File.Plan.Goal
	if g.Budget.Amount > 0 {
		n = min(n, int(min(candidate.Unbounded, o.Affordable(g.Budget.Amount)+1e-9)))
	}
	if g.Power > 0 {
		n = min(n, int(min(candidate.Unbounded, float64(g.Power)/o.Watts()+1e-9)))
	}
	return n
}

// Grid is the number of rates at which the highest that a fleet sustains is looked for, from its
// bound down to the lightest load: 3 % apart. All searches use the same rates, so that what one
// finds does not depend on what others are compared with.
const Grid = 128

// RateGrid is what is known of the highest rate that a fleet sustains.
type RateGrid struct {
	// Kept and missed are places in the grid: one replica sustains its share of the rate at kept,
	// and one replica or the fleet does not sustain that at missed. Place 0 is the bound, place
	// grid+1 no load at all.
	Kept, Missed int
	Ceiling      float64 // of the fleet, in requests/s
}

// Rate returns the rate of the fleet at a place in the grid.
func (r *RateGrid) Rate(place int) float64 {
	if place > Grid {
		return 0
	}
	return asked.Round(r.Ceiling * math.Pow(LightLoad, float64(place)/Grid))
}

// Highest returns the highest rate that the fleet may sustain, as far as is known.
func (r *RateGrid) Highest() float64 { return r.Rate(r.Missed + 1) }

// Next returns the place in the grid to simulate: the middle of what is not known, but no rate
// below served, which another fleet is known to serve; a fleet that misses that has lost. It is
// r.missed where all that is not known is below served.
func (r *RateGrid) Next(served float64) int {
	place := (r.Kept + r.Missed) / 2
	for place > r.Missed && r.Rate(place) < served {
		place--
	}
	return place
}

// Done reports whether the highest rate is known.
func (r *RateGrid) Done() bool { return r.Kept-r.Missed == 1 }

// Above returns the place in the grid of the lowest rate above another; 0 where that is not below
// the bound.
func (r *RateGrid) Above(rate float64) int {
	place := Grid
	for place > 0 && r.Rate(place) <= rate {
		place--
	}
	return place
}
