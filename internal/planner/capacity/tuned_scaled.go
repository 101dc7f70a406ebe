package capacity

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/changes"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// tuneScaled is tune for a menu whose replicas start and stop with the load. Each simulation has
// the whole load, so settings get as many as the search took, and a setting is tried as a fleet of
// up to as many replicas as its base was.
func (s *search) tuneScaled(ctx context.Context) error {
	most := min(max(2*fewChecks, s.Trials.Count()), mostTuningRuns)
	s.tuned = &answer.Tuned{Without: s.label(s.best), WithoutReplicas: s.size(),
		WithoutScaled: s.chosen().Scaled(), WithoutHourly: s.cost()}
	replicas := map[string]int{} // of each base
	change := func(i int) ([]*candidate.Option, error) {
		o, n := s.options[i], s.baseSize(i)
		replicas[s.scalingOf(o)] = n
		if i == s.best { // it keeps the SLO, and any setting may make it cheaper
			return s.changedAny(i)
		}
		missed, _, err := s.Simulate(ctx, o, n, o.Worst(), 0)
		if err != nil {
			return nil, err
		}
		return changes.Changed(&s.Judge, missed, o)
	}
	begun := s.Trials.Count()
	return s.inTurns(ctx, s.tunableScaled(), change, func(fresh []int, _ func() bool) ([]int,
		error) {
		before := s.best
		for _, i := range fresh {
			if s.Trials.Count()-begun >= most {
				break
			}
			s.tuned.Tried++
			if err := s.tryTunedScaled(ctx, i, replicas[s.scalingOf(s.options[i])]); err != nil {
				return nil, err
			}
		}
		if s.best == before {
			return nil, nil
		}
		return []int{s.best}, nil
	})
}

// tunableScaled returns the options whose settings are tried: of each shape the nearest with each
// way of scaling, and with a fixed number of replicas, as far as their bounds allow that they cost
// less than the answer.
func (s *search) tunableScaled() []int {
	var list []int
	for i := range s.options {
		if i == s.best || s.mayBeatBest(i) && s.leastCost(i) < s.cost()*(1-worthTuning) {
			list = append(list, i)
		}
	}
	s.sortByNearness(list)
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(i int) bool {
		way := s.scalingOf(s.options[i])
		again := seen[way]
		seen[way] = true
		return again
	})
	return list[:min(len(list), mostTuned)]
}

// scalingOf names the shape of an option and how it is scaled.
func (s *search) scalingOf(o *candidate.Option) string {
	if !o.Scaled() {
		return o.Shape()
	}
	return o.Shape() + s.Trials.File.Plan.Menu.ScalingWords(o.Scaling.Index)
}

// baseSize returns the number of replicas, spares left out, of which fleets with other settings are
// tried: that of the answer, or of the first fleet of option i that was simulated.
func (s *search) baseSize(i int) int {
	o := s.options[i]
	switch {
	case i == s.best:
		return s.outcomes[i].replicas
	case !o.Scaled():
		return max(1, s.cheaper(i))
	case s.tried(i).First > 0:
		return s.tried(i).First
	}
	return max(s.Fewest(o), s.fixed[o.Fixed()])
}

// tryTunedScaled simulates an option with another setting, of up to n replicas where their number
// is not fixed, and makes it the answer where it saves enough.
func (s *search) tryTunedScaled(ctx context.Context, i, n int) error {
	o := s.options[i]
	if !o.Scaled() {
		if s.cheaper(i) < s.Fewest(o) {
			return nil
		}
		_, err := s.tryTuned(ctx, i)
		return err
	}
	seen, err := s.examine(ctx, i, max(n, s.Fewest(o)))
	if words, failed := oracle.Failure(err); failed {
		s.outcomes[i] = outcome{kind: broken, words: words}
		return nil
	}
	if err != nil || !seen.kept ||
		s.outcomes[i].running*o.Price >= s.cost()*(1-worthTuning) {
		s.outcomes[i].kind, s.outcomes[i].words = simulated, missesCheaper
		return err
	}
	return s.prefer(ctx, i, max(n, s.Fewest(o)))
}
