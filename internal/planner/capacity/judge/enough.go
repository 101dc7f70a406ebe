package judge

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// Enough decides whether n replicas of o, without the spares, serve the load. It simulates one
// replica if all are alike, and else the whole fleet.
func (j *Judge) Enough(ctx context.Context, o *candidate.Option, n int) (oracle.Verdict, error) {
	if o.Scaled() {
		return j.keepsUp(ctx, o, n)
	}
	if _, taken := o.Interrupted(); taken {
		t, err := j.KeepsOnSpot(ctx, o, n, j.Rate, o.Worst(), 0)
		return oracle.Verdict{Rate: j.Rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
	}
	if j.Trials.File.Plan.Divisible() {
		return j.Trials.Sustains(ctx, o, j.Rate/float64(n))
	}
	t, _, err := j.Simulate(ctx, o, n, o.Worst(), 0)
	return oracle.Verdict{Rate: j.Rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
}

// keepsUp decides whether a scaled fleet of at most n replicas, spares left out, serves the load:
// the whole fleet does, over pooled seeds.
func (j *Judge) keepsUp(ctx context.Context, o *candidate.Option, n int) (oracle.Verdict, error) {
	needed := Indices(j.Trials.File.Plan.Seeds(FewSeeds)) // which run at the same time
	if err := Each(ctx, needed, func(ctx context.Context, seed int) error {
		_, _, err := j.Simulate(ctx, o, n, o.Worst(), uint64(seed))
		return err
	}); err != nil {
		return oracle.Verdict{}, err
	}
	runs, ok, err := j.Pool(ctx, o, n, o.Worst(), j.Seeds)
	if err != nil {
		return oracle.Verdict{}, err
	}
	v := oracle.Verdict{Sustained: ok, Unused: true, Trial: runs[0]}
	v.Trial.Kept.Mean = SharePooled(runs).Mean
	for k := range runs {
		v.Unused = v.Unused && NeverRan(o, &runs[k], n)
	}
	return v, nil
}

// Sustains decides whether n replicas of o sustain a rate: by one of them where they are alike,
// else by the whole fleet.
func (j *Judge) Sustains(ctx context.Context, o *candidate.Option, n int,
	rate float64) (oracle.Verdict, error) {
	if _, taken := o.Interrupted(); taken {
		rate = menu.Round(rate)
		t, err := j.KeepsOnSpot(ctx, o, n, rate, o.Worst(), 0)
		return oracle.Verdict{Rate: rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
	}
	if j.Trials.File.Plan.Divisible() {
		return j.Trials.Sustains(ctx, o, rate/float64(n))
	}
	rate = menu.Round(rate)
	t, _, err := j.simulateAt(ctx, o, n, rate, o.Worst(), 0)
	return oracle.Verdict{Rate: rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
}
