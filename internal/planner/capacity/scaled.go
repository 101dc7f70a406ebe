package capacity

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// tryScaled simulates a scaled option, and makes it the best if it is. It rests on two rules, which
// are not proven: a fleet of up to n replicas does not keep an SLO that n fixed ones miss, nor one
// that up to more of them miss; and it costs no less where n is higher. See check for what becomes
// of the fleets that they leave out.
func (s *search) tryScaled(ctx context.Context, i int) error {
	o, outcome := s.options[i], &s.outcomes[i]
	n, err := s.leastFixed(ctx, o)
	if err != nil {
		return err
	}
	if n == 0 {
		outcome.kind, outcome.words = simulated, "no fixed number of replicas keeps the SLO"
		return nil
	}
	if n = max(n, o.Scaling.Always); n > s.Most(o) {
		outcome.kind, outcome.words = simulated, fmt.Sprintf("%s or more are needed, and there "+
			"are accelerators for %d", units.Plural(n+s.Spare, "replica"), s.Most(o)+s.Spare)
		return nil
	}
	found := 0
	l := judge.Least{First: n, Low: n - 1, Most: s.Most(o), Step: 1, Near: 1}
	if _, err := l.Find(func(n int) (bool, error) {
		seen, err := s.examine(ctx, i, n)
		switch {
		case err != nil:
		case seen.kept:
			found = n
		case seen.worth && seen.settled:
			found, err = 0, judge.ErrStop
		}
		return seen.kept || !seen.worth, err // what is not worth it has too many
	}); err != nil || found == 0 {
		return err
	}
	return s.prefer(ctx, i, found)
}

// prefer makes a scaled fleet of up to n replicas the best.
func (s *search) prefer(ctx context.Context, i, n int) (err error) {
	running, err := s.Charge(ctx, s.options[i], n)
	if err == nil {
		s.outcomes[i].replicas, s.outcomes[i].running = n, running
		s.makeBest(i)
	}
	return err
}

// scaledOutcome is what simulations show of a scaled fleet of up to some number of replicas.
type scaledOutcome struct {
	// worth reports whether it would be the best if it kept the SLO, and kept whether it is.
	worth, kept bool
	// settled reports whether fleets of up to more replicas show the same: some of them never run.
	settled bool
}

// examine simulates a scaled fleet of up to n replicas, and notes what became of it where it is not
// better than the best. What it costs is simulated before its SLO.
func (s *search) examine(ctx context.Context, i, n int) (scaledOutcome, error) {
	tried := s.tried(i)
	tried.Note(n)
	worth, unused, err := s.worthwhile(ctx, i, n)
	if err != nil {
		return scaledOutcome{}, err
	}
	if !worth {
		tried.Settle(n, unused)
		return scaledOutcome{settled: unused}, nil
	}
	o := s.options[i]
	v, err := s.Enough(ctx, o, n)
	if err != nil {
		return scaledOutcome{}, err
	}
	seen := scaledOutcome{worth: true, kept: v.Sustained, settled: unused && v.Unused}
	tried.Settle(n, seen.settled)
	if outcome := &s.outcomes[i]; !v.Sustained && i != s.best {
		outcome.missed, outcome.closest = &v, max(outcome.closest, v.Trial.Kept.Mean)
		outcome.kind, outcome.words = simulated, s.whyLost(o, n, v)
	}
	return seen, nil
}

// worthwhile reports whether a scaled option of at most n replicas would be the best if it kept the
// SLO, and whether some of these never run. The mean of all seeds is at least what one shows and
// the others must.
func (s *search) worthwhile(ctx context.Context, i, n int) (worth, unused bool, err error) {
	o, outcome := s.options[i], &s.outcomes[i]
	least, all := s.leastCost(i)/o.Price, s.Trials.File.Plan.Seeds(judge.FewSeeds)
	for seeds := 1; seeds <= all; seeds++ {
		var sum float64
		if sum, unused, err = s.MeanRunning(ctx, o, n, seeds); err != nil {
			return false, false, err
		}
		running := (sum + float64(float64(all-seeds)*least)) / float64(all)
		hourly := float64(running * o.Price)
		wins := s.wins(o, n, hourly)
		if i != s.best {
			outcome.running = running
		}
		if !wins && i != s.best {
			outcome.kind, outcome.words = simulated, fmt.Sprintf(
				"of up to %s, %s or more run on average, for %s/h",
				units.Plural(n+s.Spare, "replica"), report.Figure(running), s.Money(hourly))
		}
		if !wins {
			return false, unused, nil
		}
	}
	return true, unused, nil
}

// firstAsked returns the simulation that tryScaled begins with, and its number of replicas: the
// bound of a fixed fleet, or where the least fixed number is known, the bound of how many replicas
// run.
func firstAsked(s *judge.Judge, o *candidate.Option,
	known map[candidate.SameButScaling]int) (func(context.Context, *candidate.Option,
	int) (judge.Verdict, error), int) {
	n, found := known[o.Fixed()]
	if n = max(n, o.Scaling.Always); found {
		return func(ctx context.Context, o *candidate.Option, n int) (judge.Verdict, error) {
			_, _, err := s.MeanRunning(ctx, o, n, 1)
			return judge.Verdict{}, err
		}, n
	}
	fixed := o.Unscaled()
	return func(ctx context.Context, o *candidate.Option, n int) (judge.Verdict, error) {
		_, _, err := s.Simulate(ctx, fixed, n, o.Worst(), 0)
		return judge.Verdict{}, err
	}, s.Fewest(fixed)
}

// leastFixed returns the least fixed number of the replicas of an option, spares left out, that
// does not miss the SLO beyond chance in one run; 0 where all do.
func (s *search) leastFixed(ctx context.Context, o *candidate.Option) (int, error) {
	key := o.Fixed()
	if n, known := s.fixed[key]; known {
		return n, nil
	}
	fixed := o.Unscaled()
	n := s.Fewest(fixed)
	l := judge.Least{First: n, Low: n - 1, Most: s.Most(fixed), Step: 1, Near: 1}
	found, err := l.Find(func(n int) (bool, error) {
		t, _, err := s.Simulate(ctx, fixed, n, o.Worst(), 0)
		return t.Kept.Mean+t.Kept.Half >= t.Target, err
	})
	if err != nil {
		return 0, err
	}
	if s.fixed == nil {
		s.fixed = map[candidate.SameButScaling]int{}
	}
	s.fixed[key] = found
	return found, nil
}

// openScaled reports whether a scaled option may cost less than the best: it was left out, since
// the best seemed cheaper then, or it is known to cost less.
func (s *search) openScaled(i int) bool {
	outcome := &s.outcomes[i]
	if outcome.kind == costsMore {
		return s.mayWin(i)
	}
	return outcome.running > 0 && outcome.missed == nil && i != s.best &&
		s.wins(s.options[i], max(1, outcome.replicas), s.hourly(i))
}
