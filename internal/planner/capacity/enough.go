package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// enough decides whether n replicas of o, without the spares, serve the load. It simulates one
// replica if all are alike, and else the whole fleet.
func (s *judge) enough(ctx context.Context, o *candidate.Option, n int) (oracle.Verdict, error) {
	if o.Scaled() {
		return s.keepsUp(ctx, o, n)
	}
	if _, taken := o.Interrupted(); taken {
		t, err := s.keepsOnSpot(ctx, o, n, s.rate, o.Worst(), 0)
		return oracle.Verdict{Rate: s.rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
	}
	if s.trials.File.Plan.Divisible() {
		return s.trials.Sustains(ctx, o, s.rate/float64(n))
	}
	t, _, err := s.simulate(ctx, o, n, o.Worst(), 0)
	return oracle.Verdict{Rate: s.rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
}

// keepsUp decides whether a scaled fleet of at most n replicas, spares left out, serves the load:
// the whole fleet does, over pooled seeds.
func (s *judge) keepsUp(ctx context.Context, o *candidate.Option, n int) (oracle.Verdict, error) {
	needed := indices(s.trials.File.Plan.Seeds(fewSeeds)) // which run at the same time
	if err := each(ctx, needed, func(ctx context.Context, seed int) error {
		_, _, err := s.simulate(ctx, o, n, o.Worst(), uint64(seed))
		return err
	}); err != nil {
		return oracle.Verdict{}, err
	}
	runs, ok, err := s.pool(ctx, o, n, o.Worst(), s.seeds)
	if err != nil {
		return oracle.Verdict{}, err
	}
	v := oracle.Verdict{Sustained: ok, Unused: true, Trial: runs[0]}
	v.Trial.Kept.Mean = sharePooled(runs).Mean
	for k := range runs {
		v.Unused = v.Unused && neverRan(o, &runs[k], n)
	}
	return v, nil
}

// sustains decides whether n replicas of o sustain a rate: by one of them where they are alike,
// else by the whole fleet.
func (s *judge) sustains(ctx context.Context, o *candidate.Option, n int,
	rate float64) (oracle.Verdict, error) {
	if _, taken := o.Interrupted(); taken {
		rate = menu.Round(rate)
		t, err := s.keepsOnSpot(ctx, o, n, rate, o.Worst(), 0)
		return oracle.Verdict{Rate: rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
	}
	if s.trials.File.Plan.Divisible() {
		return s.trials.Sustains(ctx, o, rate/float64(n))
	}
	rate = menu.Round(rate)
	t, _, err := s.simulateAt(ctx, o, n, rate, o.Worst(), 0)
	return oracle.Verdict{Rate: rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
}
