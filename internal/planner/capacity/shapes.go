package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/units"
)

// mostShapes bounds the shapes that an answer shows.
const mostShapes = 24

// leaders returns the option of each shape that is nearest to being chosen, the nearest of all
// first, and the number of shapes that are left out.
func (s *standing) leaders() (list []int, left int) {
	at := map[string]int{}
	for i, o := range s.options {
		name := o.Shape()
		k, seen := at[name]
		switch {
		case !seen:
			at[name] = len(list)
			list = append(list, i)
		case s.nearerToChosen(i, list[k]):
			list[k] = i
		}
	}
	if left = max(0, len(list)-mostShapes); left > 0 {
		s.sortByNearness(list)
	}
	return list[:len(list)-left], left
}

// shapes shows each accelerator and parallelism at its best settings, as far as they are known.
func (s *cheapestGoal) shapes(ctx context.Context) (list []answer.Shape, left int, err error) {
	leaders, left := s.leaders()
	list = make([]answer.Shape, len(leaders))
	group, ctx := errgroup.WithContext(ctx)
	for n, i := range leaders {
		if !s.Trials.Shard.Mine(n) {
			continue
		}
		group.Go(func() (err error) {
			list[n], err = s.shape(ctx, i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(list, func(a, b answer.Shape) int {
		return cmp.Or(-cmp.Compare(sign(a.Replicas), sign(b.Replicas)),
			cmp.Compare(a.Hourly, b.Hourly), -cmp.Compare(a.Rate, b.Rate))
	})
	return list, left, nil
}

func sign(n int) int { return min(n, 1) }

// shape finds the highest rate of an option, and the fleet that it would take.
func (s *cheapestGoal) shape(ctx context.Context, i int) (answer.Shape, error) {
	o, outcome := s.options[i], &s.outcomes[i]
	sh := answer.Shape{Shape: o.Shape(), GPUs: o.GPUs, Label: s.label(i), Grade: o.Grade, Option: i}
	if o.Decode == nil || o.Decode.Offer.Accelerator == o.Prefill.Offer.Accelerator {
		sh.Accelerator = o.Prefill.Offer.Accelerator
	}
	if outcome.kind == unfit || outcome.kind == outOfReach || outcome.kind == broken {
		sh.Limit = s.words(i)
		return sh, nil
	}
	sh.KVTokens = o.Prefill.Room
	replicas, err := s.needed(ctx, i, &sh)
	if words, failed := judge.Failure(err); failed {
		sh.Limit = words
		return sh, nil
	}
	if err != nil {
		return sh, err
	}
	if size := replicas + s.Spare; replicas > 0 {
		sh.Replicas, sh.Accelerators, sh.Hourly = size, size*o.GPUs, o.Cost(size)
		if o.Scaled() {
			sh.Hourly, sh.Fewest = s.hourly(i), o.Scaling.Always+s.Spare
		}
		if millions := s.millions(); millions > 0 {
			sh.PerMillion = sh.Hourly / millions
		}
	}
	return sh, nil
}

// needed returns how many replicas of option i keep the SLO in a simulation of that very fleet,
// spares down; 0 where no fleet does, or where no fleet was simulated. It notes the highest rate of
// a replica that is judged alone, and what limits the option.
func (s *cheapestGoal) needed(ctx context.Context, i int, sh *answer.Shape) (int, error) {
	o, replicas := s.options[i], s.outcomes[i].replicas
	_, taken := o.Interrupted()
	switch {
	case s.Trials.File.Plan.Divisible() && !taken:
		rate, above, err := s.highest(ctx, i)
		if err != nil {
			return 0, err
		}
		sh.Rate, sh.Limit = rate, "at a higher rate, "+above.Trial.Limit
		if i == s.best || rate == 0 && replicas == 0 {
			return replicas, nil
		}
		if replicas == 0 {
			replicas = int(math.Ceil(s.Rate / rate))
		}
		if s.best >= 0 && o.Cost(replicas+s.Spare) < contender*s.cost() {
			return s.sizeAlternative(ctx, i, replicas, sh)
		}
		return 0, nil
	case replicas == 0 && s.sizedBesideAnswer(i):
		if sh.Limit = s.words(i); s.mostWorthwhile(i) >= s.Fewest(o) {
			sh.Limit = missesCheaper
		}
		return s.fleetOf(ctx, i)
	case replicas == 0:
		sh.Limit = s.words(i)
	case replicas == 1:
		sh.Limit = "one is enough"
	default:
		v, err := s.Enough(ctx, o, replicas-1)
		if err != nil {
			return 0, err
		}
		sh.Limit = s.whyLost(o, replicas-1, v)
	}
	return replicas, nil
}

// comparable is the largest ratio of an option's bound to the price of the answer at which an
// option that is judged by whole fleets is sized as a fleet.
const comparable = 2

// sizedBesideAnswer reports whether an option that is judged by whole fleets is sized beside the
// answer.
func (s *cheapestGoal) sizedBesideAnswer(i int) bool {
	kind, o := s.outcomes[i].kind, s.options[i]
	return s.best >= 0 && i != s.best && !o.Scaled() && (kind == simulated || kind == costsMore) &&
		s.leastCost(i) <= comparable*s.cost()
}

// fleetOf sizes an option as a fleet; 0 where no fleet keeps the SLO.
func (s *cheapestGoal) fleetOf(ctx context.Context, i int) (int, error) {
	rough := *s
	trials := *s.Trials
	trials.Rough, rough.Trials, rough.replicaShare = true, &trials, 0
	n, err := rough.smallest(ctx, i, max(s.Fewest(s.options[i]), s.mostWorthwhile(i)+1),
		func(int, float64) {})
	return n, err
}

// sizeAlternative sizes an option that is nearly as cheap as the answer as a fleet, from the n
// replicas that one replica suggests; 0 where its fleets miss the SLO. Fleets that cost less than
// the answer were tried before, unless other models have the accelerators.
func (s *cheapestGoal) sizeAlternative(ctx context.Context, i, n int, sh *answer.Shape) (int,
	error) {
	o, most := s.options[i], s.Most(s.options[i])
	if most < s.Fewest(o) {
		sh.Limit = s.words(i)
		return 0, nil
	}
	fleet, err := s.smallest(ctx, i, min(n, most), func(int, float64) {})
	if least := s.mostWorthwhile(i) + 1; err == nil && !s.joint && 0 < fleet && fleet < least {
		var kept bool
		if kept, _, err = s.Keeps(ctx, o, least, o.Worst(), s.Seeds); kept {
			return least, err
		}
		fleet, most = 0, least
	}
	if err == nil && fleet == 0 {
		sh.Limit = units.Plural(most, "replica") + " miss the SLO"
		if offer := o.Shortest(most + s.Spare + 1); offer != nil {
			sh.Limit += fmt.Sprintf("; there are %d × %s", offer.Count, offer.Accelerator)
		}
	}
	return fleet, err
}
