package capacity

import (
	"cmp"
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

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
	s.tried(i).Note(n)
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

// andScaled adds the rules of fleets that start and stop to the rules of a goal.
func (s *search) andScaled(rules ...string) []string {
	if s.Trials.File.Plan.Scaled() {
		rules = append(rules, "up to n replicas that start and stop miss an SLO that n fixed ones "+
			"miss", "they cost no less where n is higher")
	}
	return rules
}
