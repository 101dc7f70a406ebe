package capacity

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// checkWays builds a fleet in each way of scaling, so that a policy or parameter that is not known
// is refused before anything is simulated.
func (s *search) checkWays() error {
	f := s.trials.file
	done := map[int]bool{}
	for _, o := range s.options {
		if !o.scaled() || done[o.way.index] || o.unfit() != "" {
			continue
		}
		done[o.way.index] = true
		file, err := f.file(o.scenario(&f.Plan.Menu, s.fewest(o), 1), 0, probes)
		if err != nil {
			return err
		}
		file.Clocks = s.trials.clocks
		simulation, err := file.Build(policies.Default())
		if err == nil {
			err = simulation.Source.Close()
		}
		if scenarios.IsInputError(err) {
			return scenarios.BadInput(fmt.Errorf("%s: menu.scaling: %s: %s", f.name,
				f.Plan.Menu.scalingWords(o.way.index), reason(err)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tryScaled simulates a scaled option, and makes it the best if it is. It rests on three rules,
// which exhaustive search confirms on its menus: a fleet of up to n replicas does not keep an SLO
// that n fixed ones miss; it costs no less where n is higher; and no less where the least number of
// replicas is higher.
func (s *search) tryScaled(ctx context.Context, i int) error {
	o, fate := s.options[i], &s.fates[i]
	if s.dearer(i) {
		fate.kind, fate.words = outdone, "with a lower least number of replicas it costs too much"
		return nil
	}
	n, err := s.leastFixed(ctx, o)
	if err != nil {
		return err
	}
	if n == 0 {
		fate.kind, fate.words = simulated, "no fixed number of replicas keeps the SLO"
		return nil
	}
	if n = max(n, o.way.always); n > s.most(o) {
		fate.kind, fate.words = simulated, fmt.Sprintf("%s or more are needed, and there are "+
			"accelerators for %d", several(n+s.spare, "replica"), s.most(o)+s.spare)
		return nil
	}
	low, high, found := n-1, s.most(o)+1, 0 // too few, and too many
	for step := 1; high-low > 1; {
		worth, err := s.worthwhile(ctx, i, n)
		if err != nil {
			return err
		}
		ok := false
		if worth {
			if ok, err = s.suffice(ctx, i, n); err != nil {
				return err
			}
		}
		switch {
		case ok:
			found, high = n, n
		case !worth:
			high = n
		case fate.unused:
			return nil
		default:
			low = n
		}
		if n = (low + high) / 2; high > s.most(o) {
			n, step = min(low+step, s.most(o)), 2*step
		}
	}
	if found > 0 {
		fate.replicas = found
		if fate.running, err = s.charge(ctx, o, found); err == nil {
			s.crown(i)
		}
	}
	return err
}

// worthwhile reports whether a scaled option of at most n replicas would be the best if it kept the
// SLO, and notes what runs. The mean of all seeds is at least what one shows and the others must.
func (s *search) worthwhile(ctx context.Context, i, n int) (bool, error) {
	o, fate := s.options[i], &s.fates[i]
	least, all := s.leastCost(i)/o.price, s.trials.file.Plan.seeds(fewSeeds)
	for seeds := 1; seeds <= all; seeds++ {
		sum, err := s.ran(ctx, o, n, seeds)
		if err != nil {
			return false, err
		}
		fate.running = (sum + float64(float64(all-seeds)*least)) / float64(all)
		if !s.wins(o, n, s.hourly(i)) {
			fate.kind, fate.words = simulated, fmt.Sprintf(
				"of up to %s, %s or more run on average, for $%s/h",
				several(n+s.spare, "replica"), report.Figure(fate.running),
				report.Figure(s.hourly(i)))
			return false, nil
		}
	}
	return true, nil
}

// firstAsked returns the simulation that tryScaled begins with, and its number of replicas: that of
// a fixed fleet, or where the least fixed number is known, that of how many replicas run.
func (s *search) firstAsked(o *option, known map[alike]int) (func(context.Context, *option,
	int) (verdict, error), int) {
	n, found := known[o.fixed()]
	if n = max(n, o.way.always); found {
		return func(ctx context.Context, o *option, n int) (verdict, error) {
			_, err := s.ran(ctx, o, n, 1)
			return verdict{}, err
		}, n
	}
	fixed := o.unscaled()
	return func(ctx context.Context, o *option, n int) (verdict, error) {
		_, _, err := s.whole(ctx, fixed, n, o.slow, 0)
		return verdict{}, err
	}, s.fewest(fixed)
}

// dearer reports whether the same fleet with a lower least number of replicas, which comes before
// an option on the menu, is known to cost too much.
func (s *search) dearer(i int) bool {
	o := s.options[i]
	for j := i - 1; j >= 0 && s.options[j].lower(s.options[j+1]); j-- {
		if fate := &s.fates[j]; fate.running > 0 &&
			!s.wins(o, o.way.always, float64(fate.running*o.price)) {
			return true
		}
	}
	return false
}

// keepsUp decides whether a scaled fleet of at most n replicas, spares left out, serves the load:
// the whole fleet does, over pooled seeds.
func (s *search) keepsUp(ctx context.Context, o *option, n int) (verdict, error) {
	needed := places(s.trials.file.Plan.seeds(fewSeeds)) // which run at the same time
	if err := each(ctx, needed, func(ctx context.Context, seed int) error {
		_, _, err := s.whole(ctx, o, n, o.slow, uint64(seed))
		return err
	}); err != nil {
		return verdict{}, err
	}
	ok, kept, err := s.keeps(ctx, o, n, o.slow, s.seeds)
	if err != nil {
		return verdict{}, err
	}
	t, _, err := s.whole(ctx, o, n, o.slow, 0)
	t.Kept.Mean = kept
	return verdict{sustained: ok, trial: t}, err
}

// leastFixed returns the least fixed number of the replicas of an option, spares left out, that
// does not miss the SLO beyond chance in one run; 0 where all do.
func (s *search) leastFixed(ctx context.Context, o *option) (int, error) {
	key := o.fixed()
	if n, known := s.fixed[key]; known {
		return n, nil
	}
	fixed := o.unscaled()
	n, most, found := s.fewest(fixed), s.most(fixed), 0
	low := n - 1
	for step := 1; found == 0 && low < most || found-low > 1; {
		t, _, err := s.whole(ctx, fixed, n, o.slow, 0)
		switch {
		case err != nil:
			return 0, err
		case t.Kept.Mean+t.Kept.Half >= t.Target:
			found = n
		default:
			low = n
		}
		if found > 0 {
			n = (low + found) / 2
		} else {
			n, step = min(n+step, most), 2*step
		}
	}
	if s.fixed == nil {
		s.fixed = map[alike]int{}
	}
	s.fixed[key] = found
	return found, nil
}

// openScaled reports whether a scaled option may cost less than the best: it was left out, since
// the best seemed cheaper then, or it is known to cost less.
func (s *search) openScaled(i int) bool {
	fate := &s.fates[i]
	if fate.kind == costsMore || fate.kind == outdone {
		return s.mayWin(i) && !s.dearer(i)
	}
	return fate.running > 0 && fate.missed == nil && i != s.best &&
		s.wins(s.options[i], max(1, fate.replicas), s.hourly(i))
}
