package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
)

// run finds the best fleet. Options are taken in the order of the least that they could cost, so
// that most of them are seen to cost more than the best so far without a simulation, and most
// others are simulated once: with as many replicas as would be cheaper.
func (s *search) run(ctx context.Context) error {
	if s.fates == nil { // else a fleet to beat is known
		s.best, s.fates = -1, make([]fate, len(s.options))
	}
	var order []int
	for i, o := range s.options {
		lost, missing := s.missing[i]
		switch {
		case missing:
			s.fates[i] = lost
		case o.unfit() != "":
			s.fates[i] = fate{kind: unfit}
		case o.tight:
			s.fates[i] = fate{kind: outOfReach, closest: o.alone}
		case s.most(o) < s.fewest(o):
			s.fates[i] = fate{kind: tooFew}
		default:
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.leastCost(a), s.leastCost(b)),
			cmp.Compare(s.options[a].busyCost(), s.options[b].busyCost()))
	})
	lookout := s.newLookout()
	defer lookout.close()
	for k, i := range order {
		if !s.mayWin(i) {
			if i != s.best {
				s.fates[i] = fate{kind: costsMore}
			}
			continue
		}
		lookout.begin(ctx, order[k+1:])
		err := s.try(ctx, i)
		if words, failed := failure(err); failed {
			s.fates[i] = fate{kind: broken, words: words}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// serves decides whether n replicas of option i serve the load, and notes what that says of one.
func (s *search) serves(ctx context.Context, i, n int) (verdict, error) {
	v, err := s.enough(ctx, s.options[i], n)
	if err != nil {
		return v, err
	}
	switch fate := &s.fates[i]; {
	case v.sustained:
		fate.kept = max(fate.kept, v.rate)
	case fate.missed == nil || v.rate < fate.missed.rate:
		fate.missed = &v
	}
	return v, nil
}

// try simulates an option, and makes it the best if it is.
func (s *search) try(ctx context.Context, i int) error {
	o := s.options[i]
	if o.scaled() {
		return s.tryScaled(ctx, i)
	}
	if n, known := s.fixed[o.fixed()]; known && !s.beats(o, n) {
		s.fates[i].kind = simulated
		s.fates[i].words = fmt.Sprintf("fewer than %s miss the SLO", answer.Several(n, "replica"))
		return nil
	}
	low := s.fewest(o) - 1 // does not sustain the load
	n, high := s.first(o)
	ok, err := s.suffice(ctx, i, n)
	if err == nil && !ok && n < high && s.trials.file.Plan.Divisible() {
		// An option that misses the SLO at a light load misses it at any.
		if light, err := s.suffice(ctx, i, high); err != nil || !light {
			return err
		}
	}
	for step := 1; err == nil && !ok; step *= 2 {
		if n == high {
			return nil
		}
		low, n = n, min(high, n+step)
		ok, err = s.suffice(ctx, i, n)
	}
	if err != nil {
		return err
	}
	if high, err = s.bisect(ctx, i, low, n); err != nil {
		return err
	}
	s.fates[i].replicas = high
	if s.beats(o, high) {
		s.crown(i)
	}
	return nil
}

// suffice reports whether n replicas of option i serve the load, and notes what became of it where
// they do not.
func (s *search) suffice(ctx context.Context, i, n int) (bool, error) {
	v, err := s.serves(ctx, i, n)
	if err != nil || v.sustained {
		return v.sustained, err
	}
	fate := &s.fates[i]
	fate.closest = max(fate.closest, v.trial.Kept.Mean)
	fate.kind, fate.words = simulated, s.lost(s.options[i], n, v)
	return false, nil
}

// bisect returns the least number of replicas that serve the load, between low, which do not, and
// high, which do.
func (s *search) bisect(ctx context.Context, i, low, high int) (int, error) {
	for high-low > 1 {
		middle := (low + high) / 2
		v, err := s.serves(ctx, i, middle)
		if err != nil {
			return 0, err
		}
		if v.sustained {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// fall is by how much less is tried at first than what a replica does not sustain, while nothing is
// known of what it does.
const fall = 1.5

// highest finds the highest rate that a replica sustains, to about 3 %, from what is known: falling
// from the bound, and then by bisection; 0 where even a light load is too much. The verdict is that
// of the lowest rate that is too high.
func (s *search) highest(ctx context.Context, i int) (rate float64, above verdict, err error) {
	o, fate, t := s.options[i], &s.fates[i], *s.trials
	t.rough = true
	low, high := fate.kept, o.ceiling
	if fate.missed != nil {
		high, above = fate.missed.rate, *fate.missed
	}
	light := menu.Round(o.ceiling * lightLoad)
	for low == 0 || high/low > 1.03 {
		next := math.Sqrt(low * high)
		switch {
		case low > 0:
		case high <= light:
			return 0, above, nil
		case high < o.ceiling/4: // there may be none
			next = light
		default:
			next = max(light, high/fall)
		}
		v, err := t.sustains(ctx, o, next)
		if err != nil {
			return 0, above, err
		}
		if v.sustained {
			low = v.rate
		} else {
			high, above = v.rate, v
		}
	}
	return low, above, nil
}
