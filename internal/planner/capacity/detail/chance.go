package detail

import (
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// sureOf is the confidence of the interval of a probability.
const sureOf = 0.95

// chances returns how likely the chosen number of replicas keeps the SLO, one fewer and one more
// unless only the first answer is asked for, as far as such forecasts came true. A single group of
// prefill and decode replicas would grow by one of these, and not by a group as large.
func (f *Fleet) chances(ctx context.Context) ([]answer.Chance, error) {
	n := f.Replicas
	step, beside := f.Step(f.Option, n), 1
	if f.Trials.File.Plan.FirstAnswer() || n == 1 && f.Option.Decode != nil {
		beside = 0
	}
	var list []answer.Chance
	for k := max(f.Option.Based()+1, n-beside*step); k <= n+beside*step; k += step {
		list = append(list, answer.Chance{Replicas: k})
	}
	err := judge.Each(ctx, judge.Indices(len(list)), func(ctx context.Context,
		place int) (err error) {
		list[place], err = f.chanceOf(ctx, list[place].Replicas)
		return err
	})
	return list, err
}

// Chance returns how likely the fleet keeps the SLO, as far as such forecasts came true.
func (f *Fleet) Chance(ctx context.Context) (answer.Chance, error) {
	return f.chanceOf(ctx, f.Replicas)
}

// chanceOf returns how likely a number of replicas keeps the SLO, as far as such forecasts came
// true.
func (f *Fleet) chanceOf(ctx context.Context, n int) (c answer.Chance, err error) {
	c.Replicas = n
	_, c.Kept, err = f.Keeps(ctx, f.Option, n, candidate.AsPredicted(), f.Few())
	if err != nil {
		return c, err
	}
	if f.Option.IsSpot() {
		err = f.chanceTogether(ctx, &c)
	} else {
		err = f.chance(ctx, &c)
	}
	c.Simulated = c.Probability
	for _, p := range []*float64{&c.Probability, &c.Low, &c.High} {
		known, record := f.Option.Grade.Supported(*p, f.Trials.File.Plan.LimitsHigh())
		*p = math.Floor(100*known+1e-9) / 100
		if p == &c.Probability {
			c.CameTrue, c.Cases, c.CasesOf = record.Kept, record.Cases, record.Evidence
		}
	}
	return c, err
}

// lateRun is what runs with one seed each show where steps are some deviations off: the largest
// factors on latencies under which all runs together keep the SLO, and then all but one of them,
// for each.
type lateRun struct {
	deviations float64
	most       []asked.Late
}

// chance sets how likely a fleet keeps the SLO. Where steps are z deviations slower than they
// typically are, runs show up to which factors on latencies the SLO is kept, and so with what
// probability; that is integrated over z (see predictionErrors). The factors fall as steps get
// slower, so they are simulated for few z, most of them where one falls to nothing. So a load near
// capacity, where latencies grow by many times as much as steps do, is kept that much less often.
func (f *Fleet) chance(ctx context.Context, c *answer.Chance) error {
	var runs []lateRun
	run := func(deviations float64) (lateRun, error) {
		at := slices.IndexFunc(runs, func(r lateRun) bool { return r.deviations == deviations })
		if at >= 0 {
			return runs[at], nil
		}
		r, known := f.followsFrom(runs, deviations)
		if !known {
			var err error
			if r, err = f.lateRun(ctx, c.Replicas, deviations); err != nil {
				return r, err
			}
		}
		runs = append(runs, r)
		slices.SortFunc(runs, func(a, b lateRun) int {
			return int(math.Copysign(1, a.deviations-b.deviations))
		})
		return r, nil
	}
	for k, deviations := range chanceNodes() {
		r, err := run(deviations)
		if err != nil || k == 0 && f.keepsAtSlowSteps(&r) {
			c.Probability, c.Low, c.High = 1, 1, 1
			return err
		}
	}
	const precise = 0.04 // of the probability that steps are in between
	for range 8 {
		low, high, found := 0.0, 0.0, false
		for k := 1; k < len(runs); k++ {
			a, b := &runs[k-1], &runs[k]
			gap := evidence.Within(b.deviations) - evidence.Within(a.deviations)
			if a.keepsSome() && !b.keepsSome() && gap > precise {
				low, high, found = a.deviations, b.deviations, true
			}
		}
		if !found {
			break
		}
		if _, err := run((low + high) / 2); err != nil {
			return err
		}
	}
	setChance(c, runs, f.Option.Physics.Kept)
	return nil
}

// chanceNodes are the deviations at which steps are looked at first: the slowest, and then from the
// middle outwards, so that what follows from others is not simulated.
func chanceNodes() []float64 {
	var list []float64
	for _, p := range []float64{1 - answer.Certain, 0.5, 0.2, answer.Certain, 0.8, 0.95} {
		list = append(list, evidence.Deviations(p))
	}
	return list
}

// followsFrom returns what runs with faster and with slower steps say of some deviations: where no
// TTFT is early enough, slower steps make no TTFT early enough, and where all are, all are with
// faster ones.
func (f *Fleet) followsFrom(runs []lateRun, deviations float64) (lateRun, bool) {
	for _, r := range runs {
		if r.deviations < deviations && !r.keepsSome() ||
			r.deviations > deviations && f.keepsAtSlowSteps(&r) {
			return lateRun{deviations: deviations, most: r.most}, true
		}
	}
	return lateRun{}, false
}

// keepsSome reports whether the SLO is kept for some factors on latencies.
func (r *lateRun) keepsSome() bool {
	return slices.ContainsFunc(r.most, func(most asked.Late) bool { return most.Least() > 0 })
}

// keepsAtSlowSteps reports whether a fleet keeps the SLO in more cases than can be distinguished,
// by runs with steps that are about as slow as they can be.
func (f *Fleet) keepsAtSlowSteps(r *lateRun) bool {
	return !slices.ContainsFunc(r.most, func(most asked.Late) bool {
		return f.Option.Physics.Kept(most, r.deviations) < 1-answer.Certain/10
	})
}

// lateRun simulates a fleet with several seeds.
func (f *Fleet) lateRun(ctx context.Context, n int, deviations float64) (lateRun, error) {
	o := f.Option
	wrong := candidate.ErrorFactors{Steps: o.Physics.Steps.At(deviations), Late: asked.LateBy(1)}
	var runs []judge.Trial
	seeds, growing := f.Trials.File.Plan.Seeds(f.Few()), 0
	for seed := range seeds {
		t, _, err := f.Simulate(ctx, o, n, wrong, uint64(seed))
		if err != nil {
			return lateRun{}, err
		}
		if runs = append(runs, t); t.Growing {
			growing++
		}
		if growing == 2 { // latencies grow whichever run is left out
			return lateRun{deviations, make([]asked.Late, 1+seeds)}, nil
		}
	}
	r := lateRun{deviations: deviations}
	for _, some := range leavingOutOne(runs) {
		r.most = append(r.most, mostOf(some))
	}
	return r, nil
}

// leavingOutOne returns a list, and what each of its elements leaves of it, if that is something.
func leavingOutOne[T any](list []T) [][]T {
	all := [][]T{list}
	for k := range list {
		if len(list) > 1 {
			all = append(all, slices.Delete(slices.Clone(list), k, k+1))
		}
	}
	return all
}

// mostOf returns the largest factors on latencies under which runs together keep the SLO; 0 where
// latencies grow in one of them.
func mostOf(runs []judge.Trial) asked.Late {
	var all [][]asked.Clause
	for i := range runs {
		if runs[i].Growing {
			return asked.Late{}
		}
		all = append(all, runs[i].Clauses)
	}
	return asked.MostLate(asked.Pooled(all))
}

// setChance sets the probability and its interval from runs at growing deviations, given the
// probability with which factors are not exceeded at some deviations of steps. The interval is the
// jackknife's over seeds (Efron, "The Jackknife, the Bootstrap and Other Resampling Plans", 1982,
// chapter 3).
func setChance(c *answer.Chance, runs []lateRun, keeps func(asked.Late, float64) float64) {
	var list []float64
	for seed := range runs[0].most {
		first := &runs[0]
		allowed, below := first.most[seed], evidence.Within(first.deviations)
		sum := float64(below * keeps(allowed, first.deviations))
		for i := 1; i < len(runs); i++ {
			next, upTo := allowed.And(runs[i].most[seed]), evidence.Within(runs[i].deviations)
			sum += float64((upTo - below) * keptBetween(&runs[i-1], &runs[i], allowed, next, keeps))
			allowed, below = next, upTo
		}
		last := &runs[len(runs)-1]
		list = append(list, sum+float64((1-below)*keeps(allowed, last.deviations)))
	}
	jackknife(c, list)
}

// keptBetween returns the mean probability between two runs. Logarithms of factors are
// interpolated; where one is allowed at one run alone, the probabilities at both are averaged.
func keptBetween(from, to *lateRun, more, less asked.Late,
	keeps func(asked.Late, float64) float64) float64 {
	const parts = 8
	low, high := evidence.Within(from.deviations), evidence.Within(to.deviations)
	mean := 0.0
	for k := range parts {
		z := evidence.Deviations(low + float64((high-low)*(float64(k)+0.5)/parts))
		allowed, known := more.Toward(less,
			(z-from.deviations)/(to.deviations-from.deviations))
		if !known {
			return (keeps(more, from.deviations) + keeps(less, to.deviations)) / 2
		}
		mean += keeps(allowed, z) / parts
	}
	return mean
}

// jackknife sets a probability from the probability over all seeds, which comes first, and the
// probabilities that leave out one seed each.
func jackknife(c *answer.Chance, list []float64) {
	half := 0.0
	if n := len(list) - 1; n > 1 { // each leaves out one of n, so they differ n−1 times less
		half = stats.Mean(list[1:], sureOf).Half * float64(n-1)
	}
	short := func(p float64) float64 { return math.Round(100*p) / 100 }
	c.Probability = short(list[0])
	c.Low, c.High = short(max(list[0]-half, 0)), short(min(list[0]+half, 1))
}

// chanceTogether is chance for spot replicas, whose runs are mixed by the number of them that
// serve. Both latencies are taken to be as late as in the same share of cases.
func (f *Fleet) chanceTogether(ctx context.Context, c *answer.Chance) error {
	var list []float64
	for _, set := range leavingOutOne(f.SeedsBelow(f.Few())) {
		p, err := f.latestKept(ctx, c.Replicas, set)
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	jackknife(c, list)
	return nil
}

// latestKept returns the share of cases in which latencies are no later than those with which n
// replicas keep the SLO, over some seeds.
func (f *Fleet) latestKept(ctx context.Context, n int, seeds []uint64) (float64, error) {
	low, high := 0.0, 1.0 // kept at low, missed at high
	for next := 1 - answer.Certain; high-low > answer.Certain; next = (low + high) / 2 {
		t, err := f.KeepsOnSpotOver(ctx, f.Option, n, f.Option.Physics.Worst(next), seeds)
		if err != nil {
			return 0, err
		}
		if t.Keeps() {
			low = next
		} else {
			high = next
		}
	}
	switch {
	case low >= 1-answer.Certain:
		return 1, nil
	case high <= answer.Certain:
		return 0, nil
	}
	return (low + high) / 2, nil
}
