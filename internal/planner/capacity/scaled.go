package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
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
	tried.Add(n)
	worth, unused, err := s.worthwhile(ctx, i, n)
	if err != nil {
		return scaledOutcome{}, err
	}
	if !worth {
		if outcome := &s.outcomes[i]; i != s.best {
			if outcome.dear == nil {
				outcome.dear = map[int]float64{}
			}
			outcome.dear[n] = outcome.running
		}
		tried.SameAbove(n, unused)
		return scaledOutcome{settled: unused}, nil
	}
	o := s.options[i]
	v, err := s.Enough(ctx, o, n)
	if err != nil {
		return scaledOutcome{}, err
	}
	seen := scaledOutcome{worth: true, kept: v.Sustained, settled: unused && v.Unused}
	tried.SameAbove(n, seen.settled)
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
				units.Plural(n+s.Spare, "replica"), units.Figure(running), s.Money(hourly))
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

// fewChecks and checkShare bound the simulations of fleets that rules left out which are not
// proven: one for sixteen of the search, and at least eight.
const (
	fewChecks  = 8
	checkShare = 16
)

// unchecked returns a number of replicas of option i that was not simulated as a fleet, although no
// bound says that this fleet is worse than the best: a rule left it out that is not proven. It is 0
// without one.
func (s *leftOut) unchecked(i int) int {
	o := s.options[i]
	switch s.outcomes[i].kind {
	case unfit, outOfReach, tooFew, broken:
		return 0
	}
	if s.best >= 0 && i != s.best && !s.mayWin(i) {
		return 0
	}
	for n, running := range s.outcomes[i].dear {
		if s.best != i && s.wins(o, n, float64(running*o.Price)) {
			s.tried(i).Forget(n)
			delete(s.outcomes[i].dear, n)
		}
	}
	to := s.Most(o)
	if s.best >= 0 && !o.Scaled() {
		to = s.mostWorthwhile(i)
	}
	near, known := s.fixed[o.Fixed()]
	if !known || near == 0 {
		near = to
	}
	return s.tried(i).Next(s.Fewest(o), to, near)
}

// uncheckedOptions lists the options that have fleets that only rules left out: the answer's first,
// then the ones that seem cheapest.
func (s *leftOut) uncheckedOptions() []int {
	var list []int
	for i := range s.options {
		if s.unchecked(i) > 0 {
			list = append(list, i)
		}
	}
	cost := func(i int) float64 {
		if i == s.best {
			return 0
		}
		if running := s.outcomes[i].running; running > 0 {
			return float64(running * s.options[i].Price)
		}
		return s.leastCost(i)
	}
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(cost(i), cost(j)) })
	return list
}

// check simulates the fleets that rules left out, up to the number that the plan has time for. It
// takes the options that seem cheapest, and of each the number of replicas that is nearest to the
// ones that were simulated. A fleet that is better becomes the answer.
func (s *search) check(ctx context.Context) error {
	begun := s.Trials.Count()
	most := cmp.Or(s.Trials.File.Plan.Effort.Checks, max(fewChecks, begun/checkShare))
	return judge.Search(ctx, &leftOut{search: s, until: begun + most})
}

// leftOut is the fleets that rules left out.
type leftOut struct {
	*search
	round []int // the options that are tried next, with one fleet each
	until int   // the number of simulations after which no further fleet is tried
}

// leftOutFleet is a fleet of an option, spares left out.
type leftOutFleet struct{ option, replicas int }

// Next takes the next fleet of the option that seems cheapest in its round.
func (l *leftOut) Next() []leftOutFleet {
	for {
		if len(l.round) == 0 {
			if l.round = l.uncheckedOptions(); len(l.round) == 0 {
				return nil
			}
		}
		i := l.round[0]
		l.round = l.round[1:]
		n := l.unchecked(i)
		switch {
		case n == 0: // what was found meanwhile costs less
		case l.Trials.Count() >= l.until:
			return nil
		default:
			return []leftOutFleet{{i, n}}
		}
	}
}

// Try simulates a fleet.
func (l *leftOut) Try(ctx context.Context, some []leftOutFleet) error {
	better, err := l.checkOne(ctx, some[0].option, some[0].replicas)
	if err := l.unlessBroken(some[0].option, err); err != nil {
		return err
	}
	l.checked++
	if better {
		l.better++
	}
	return nil
}

// checkOne simulates n replicas of option i, makes them the answer if they are better, and reports
// whether they are.
func (s *leftOut) checkOne(ctx context.Context, i, n int) (bool, error) {
	o := s.options[i]
	if o.Scaled() {
		seen, err := s.examine(ctx, i, n)
		if err != nil || !seen.kept {
			return false, err
		}
		return true, s.prefer(ctx, i, n)
	}
	s.tried(i).Add(n)
	ok, kept, err := s.Keeps(ctx, o, n, o.Worst(), s.Seeds)
	if err != nil || !ok {
		s.outcomes[i].closest = max(s.outcomes[i].closest, kept)
		return false, err
	}
	s.outcomes[i].replicas = n
	s.makeBest(i)
	return true, nil
}

// unproven returns what the answer rests on beside bounds and simulations; nil where all fleets of
// the menu were simulated, or are excluded by bounds. Rules are the goal's.
func (s *search) unproven(rules []string) *answer.Unproven {
	u := &answer.Unproven{Rules: rules, Checked: s.checked, Better: s.better}
	if s.Goal().Find == asked.FindCheapest || s.Goal().Find == asked.FindFront {
		u.Options = len((&leftOut{search: s}).uncheckedOptions())
		if u.Options == 0 && s.Goal().Find == asked.FindCheapest {
			return nil
		}
	}
	return u
}

// tuneScaled is tune for a menu whose replicas start and stop with the load. Each simulation has
// the whole load, so settings get the number of simulations that the search took, and a setting is
// tried with at most the replicas of its base.
func (s *tuner) tuneScaled(ctx context.Context) error {
	most := min(max(2*fewChecks, s.Trials.Count()), mostTuningRuns)
	s.tuned = s.untuned()
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
		return detail.Changed(&s.Judge, missed, o)
	}
	begun := s.Trials.Count()
	return s.coordinateSearch(ctx, mostTuningTurns, s.tunableScaled(), change, func(fresh []int,
		_ func() bool) ([]int, error) {
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
func (s *tuner) tunableScaled() []int {
	var list []int
	for i := range s.options {
		if i == s.best || s.mayBeatBest(i) && s.leastCost(i) < s.cost()*(1-worthTuning) {
			list = append(list, i)
		}
	}
	s.sortByNearness(list)
	return list[:min(len(list), mostTuned)]
}

// scalingOf names the shape of an option and how it is scaled.
func (s *tuner) scalingOf(o *candidate.Option) string {
	if !o.Scaled() {
		return o.Shape()
	}
	return o.Shape() + s.Trials.File.Plan.Menu.ScalingWords(o.Scaling.Index)
}

// baseSize returns the number of replicas, spares left out, at which fleets with other settings are
// tried: the size of the answer, or of the first fleet of option i that was simulated.
func (s *tuner) baseSize(i int) int {
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
func (s *tuner) tryTunedScaled(ctx context.Context, i, n int) error {
	o := s.options[i]
	if !o.Scaled() {
		if s.cheaper(i) < s.Fewest(o) {
			return nil
		}
		_, err := s.tryTuned(ctx, i)
		return err
	}
	seen, err := s.examine(ctx, i, max(n, s.Fewest(o)))
	if err = s.unlessBroken(i, err); s.outcomes[i].kind == broken {
		return err
	}
	if err != nil || !seen.kept ||
		s.outcomes[i].running*o.Price >= s.cost()*(1-worthTuning) {
		s.outcomes[i].kind, s.outcomes[i].words = simulated, missesCheaper
		return err
	}
	return s.prefer(ctx, i, max(n, s.Fewest(o)))
}
