package capacity

import (
	"cmp"
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

// mostRatios is how many kinds of groups have the ratio of their replicas refined.
const mostRatios = 2

// refineRatios takes the numbers of prefill and of decode replicas of a fleet of groups as numbers
// of their own: groups of a ratio on the menu have too many of one of them. From groups that keep
// the SLO, it looks for the fewest prefill replicas beside all decode replicas, and then for the
// fewest of these; and the other way around. The cheaper fleet is the answer if it costs less. With
// spares, whole groups may be down, so that groups stay whole.
func (s *search) refineRatios(ctx context.Context) error {
	p := &s.Trials.File.Plan
	if s.best < 0 || s.Spare > 0 || p.Scaled() || p.Goal.Find != asked.FindCheapest {
		return nil
	}
	var groups []int
	for i, o := range s.options {
		if o.Decode != nil && (i == s.best || s.mayBeatBest(i) && i < s.listed() &&
			s.leastCost(i) < s.cost()) {
			groups = append(groups, i)
		}
	}
	s.sortByNearness(groups)
	for _, i := range groups[:min(len(groups), mostRatios)] {
		if i != s.best && s.leastCost(i) >= s.cost() {
			continue // another ratio is cheaper by now
		}
		n := s.outcomes[i].replicas
		if i != s.best {
			var err error
			n, err = s.smallest(ctx, i, max(s.Fewest(s.options[i]), s.mostWorthwhile(i)+1),
				func(int, float64) {})
			if err = s.unlessBroken(i, err); err != nil {
				return err
			}
		}
		if n == 0 {
			continue
		}
		if err := s.refineRatio(ctx, i, n); err != nil {
			return err
		}
	}
	return nil
}

// ownRatio reports whether the best fleet has numbers of prefill and decode replicas that no group
// of the menu has.
func (s *search) ownRatio() bool {
	o := s.chosen()
	menu := s.options[o.From]
	return o.Prefills != menu.Prefills || o.Decodes != menu.Decodes
}

// refineRatio does so for n groups of option i, which keep the SLO.
func (s *search) refineRatio(ctx context.Context, i, n int) error {
	o := s.options[i]
	places := map[[2]int]int{} // of options with these numbers of replicas; 0 where there are none
	// keeps reports whether one group of x prefill and y decode replicas keeps the SLO.
	keeps := func(x, y int) (bool, error) {
		at := [2]int{x, y}
		if _, known := places[at]; !known {
			group := *o
			group.Prefills, group.Decodes = int32(x), int32(y)
			group.GPUs = x*o.Prefill.GPUs + y*o.Decode.GPUs
			fresh, err := s.added(ctx, []*candidate.Option{&group})
			if err != nil {
				return false, err
			}
			if places[at] = 0; len(fresh) == 1 {
				places[at] = fresh[0]
			}
		}
		place := places[at]
		if place == 0 || s.Fewest(s.options[place]) > 1 || s.Most(s.options[place]) < 1 {
			return false, nil
		}
		ok, kept, err := s.Keeps(ctx, s.options[place], 1, s.options[place].Worst(), s.Seeds)
		if err = s.unlessBroken(place, err); err != nil || s.outcomes[place].kind == broken {
			return false, err
		}
		s.outcomes[place].kind, s.outcomes[place].closest = simulated, kept
		s.outcomes[place].words = missesCheaper
		return ok, nil
	}
	least := func(most int, enough func(int) (bool, error)) (int, error) {
		n, err := judge.Least{First: max(1, most-1), Most: most - 1, High: most, Step: 1,
			Near: 1}.Find(enough)
		return cmp.Or(n, most), err
	}
	all := [2]int{n * int(o.Prefills), n * int(o.Decodes)}
	for _, first := range []int{0, 1} {
		at := all
		for _, side := range []int{first, 1 - first} {
			number, err := least(at[side], func(k int) (bool, error) {
				one := at
				one[side] = k
				return keeps(one[0], one[1])
			})
			if err != nil {
				return err
			}
			at[side] = number
		}
		if place := places[at]; place > 0 && s.options[place].Cost(1) < s.cost()*(1-worthTuning) {
			s.outcomes[s.best].words = "another costs less"
			s.outcomes[place].replicas = 1
			s.makeBest(place)
		}
	}
	return nil
}
