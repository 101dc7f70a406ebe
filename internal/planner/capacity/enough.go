package capacity

import (
	"context"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
)

// enough decides whether n replicas of o, without the spares, serve the load. It simulates one
// replica if all are alike, and else the whole fleet.
func (s *search) enough(ctx context.Context, o *candidate.Option, n int) (verdict, error) {
	if o.Scaled() {
		return s.keepsUp(ctx, o, n)
	}
	if _, taken := o.Interrupted(); taken {
		t, err := s.keepsOnSpot(ctx, o, n, s.rate, o.Worst(), 0)
		return verdict{rate: s.rate / float64(n), sustained: t.kept(), trial: t}, err
	}
	if s.trials.file.Plan.Divisible() {
		return s.trials.sustains(ctx, o, s.rate/float64(n))
	}
	t, _, err := s.simulate(ctx, o, n, o.Worst(), 0)
	return verdict{rate: s.rate / float64(n), sustained: t.kept(), trial: t}, err
}

// keepsUp decides whether a scaled fleet of at most n replicas, spares left out, serves the load:
// the whole fleet does, over pooled seeds.
func (s *search) keepsUp(ctx context.Context, o *candidate.Option, n int) (verdict, error) {
	needed := indices(s.trials.file.Plan.Seeds(fewSeeds)) // which run at the same time
	if err := each(ctx, needed, func(ctx context.Context, seed int) error {
		_, _, err := s.simulate(ctx, o, n, o.Worst(), uint64(seed))
		return err
	}); err != nil {
		return verdict{}, err
	}
	runs, ok, err := s.pool(ctx, o, n, o.Worst(), s.seeds)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{sustained: ok, unused: true, trial: runs[0]}
	v.trial.Kept.Mean = sharePooled(runs).Mean
	for k := range runs {
		v.unused = v.unused && neverRan(o, &runs[k], n)
	}
	return v, nil
}
