package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/units"
)

// run finds the best fleet. Options are taken in the order of the least that they could cost, so
// that most of them are seen to cost more than the best so far without a simulation, and most
// others are simulated once: with the most replicas that would still be cheaper.
func (s *search) run(ctx context.Context) error {
	if s.outcomes == nil { // else a fleet to beat is known
		s.best, s.outcomes = -1, make([]outcome, len(s.options))
	}
	var order []int
	for i, o := range s.options {
		lost, missing := s.missing[i]
		switch {
		case missing:
			s.outcomes[i] = lost
		case o.Unfit() != "":
			s.outcomes[i] = outcome{kind: unfit}
		case o.Tight:
			s.outcomes[i] = outcome{kind: outOfReach, closest: o.Alone}
		case s.Most(o) < s.Fewest(o):
			s.outcomes[i] = outcome{kind: tooFew}
		default:
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.leastCost(a), s.leastCost(b)),
			cmp.Compare(s.options[a].BusyCost(), s.options[b].BusyCost()))
	})
	c := &cheapest{search: s, lookahead: s.newLookahead()}
	defer c.lookahead.close()
	c.Open, c.AtOnce, c.MayWin = order, 1, c.mayWin
	return judge.Search(ctx, c)
}

// cheapest is the options of a menu, in the order of the least that they could cost.
type cheapest struct {
	*search
	judge.Ordered[int]
	lookahead *lookahead
}

// mayWin reports whether an option could be the better answer, and notes where it could not.
func (c *cheapest) mayWin(i int) bool {
	wins := c.search.mayWin(i)
	if !wins && i != c.best {
		c.outcomes[i] = outcome{kind: costsMore}
	}
	return wins
}

// Try simulates an option.
func (c *cheapest) Try(ctx context.Context, some []int) error {
	c.lookahead.begin(ctx, c.Open)
	return c.unlessBroken(some[0], c.try(ctx, some[0]))
}

// unlessBroken notes an error that says that the simulations of an option failed, and returns any
// other.
func (s *standing) unlessBroken(i int, err error) error {
	if words, failed := judge.Failure(err); failed {
		s.outcomes[i] = outcome{kind: broken, words: words}
		return nil
	}
	return err
}

// serves decides whether n replicas of option i serve the load, and notes what that says of one.
func (s *search) serves(ctx context.Context, i, n int) (judge.Verdict, error) {
	v, err := s.Enough(ctx, s.options[i], n)
	if err != nil {
		return v, err
	}
	switch outcome := &s.outcomes[i]; {
	case v.Sustained:
		outcome.kept = max(outcome.kept, v.Rate)
	case outcome.missed == nil || v.Rate < outcome.missed.Rate:
		outcome.missed = &v
	}
	return v, nil
}

// try simulates an option, and makes it the best if it is.
func (s *search) try(ctx context.Context, i int) error {
	o := s.options[i]
	if o.Scaled() {
		return s.tryScaled(ctx, i)
	}
	if n, known := s.fixed[o.Fixed()]; known && !s.beats(o, n) {
		s.outcomes[i].kind = simulated
		s.outcomes[i].words = fmt.Sprintf("fewer than %s miss the SLO",
			units.Plural(n, "replica"))
		return nil
	}
	first, most := s.first(o)
	l := judge.Least{First: first, Low: s.Fewest(o) - 1, Most: most, Near: 1}
	if s.best < 0 { // nothing is known of how many would win
		l.Step = 1
	}
	begun, found := false, false
	n, err := l.Find(func(n int) (ok bool, err error) {
		if found {
			v, err := s.serves(ctx, i, n)
			return v.Sustained, err
		}
		if found, err = s.serveLoad(ctx, i, n); err != nil || found || begun {
			return found, err
		}
		if begun = true; n < most && s.Trials.File.Plan.Divisible() {
			// An option that misses the SLO at a light load misses it at any.
			light, err := s.serveLoad(ctx, i, most)
			if err == nil && !light {
				err = judge.ErrStop
			}
			return false, err
		}
		return false, nil
	})
	if err != nil || n == 0 {
		return err
	}
	s.outcomes[i].replicas = n
	if s.beats(o, n) {
		s.makeBest(i)
	}
	return nil
}

// serveLoad reports whether n replicas of option i serve the load, and notes what became of it
// where they do not.
func (s *search) serveLoad(ctx context.Context, i, n int) (bool, error) {
	v, err := s.serves(ctx, i, n)
	if err != nil || v.Sustained {
		return v.Sustained, err
	}
	outcome := &s.outcomes[i]
	outcome.closest = max(outcome.closest, v.Trial.Kept.Mean)
	outcome.kind, outcome.words = simulated, s.whyLost(s.options[i], n, v)
	return false, nil
}

// firstDecrease is by how much less is tried at first than what a replica does not sustain, while
// nothing is known of what it does.
const firstDecrease = 1.5

// highest finds the highest rate that a replica sustains, to about 3 %, from what is known: falling
// from the bound, and then by bisection; 0 where even a light load is too much. The verdict belongs
// to the lowest rate that is too high.
func (s *search) highest(ctx context.Context, i int) (rate float64, above judge.Verdict,
	err error) {
	o, outcome, t := s.options[i], &s.outcomes[i], *s.Trials
	t.Rough = true
	low, high := outcome.kept, o.Ceiling
	if outcome.missed != nil {
		high, above = outcome.missed.Rate, *outcome.missed
	}
	light := asked.Round(o.Ceiling * judge.LightLoad)
	for low == 0 || high/low > 1.03 {
		next := math.Sqrt(low * high)
		switch {
		case low > 0:
		case high <= light:
			return 0, above, nil
		case high < o.Ceiling/4: // there may be no option
			next = light
		default:
			next = max(light, high/firstDecrease)
		}
		v, err := t.Sustains(ctx, o, next)
		if err != nil {
			return 0, above, err
		}
		if v.Sustained {
			low = v.Rate
		} else {
			high, above = v.Rate, v
		}
	}
	return low, above, nil
}

// lookahead begins simulations that a search will need unless it finds a better fleet before. They
// belong to the next options in order, so that cores and workers have work while one option is
// tried. Their results are used if they are needed, and dropped otherwise, so the answer does not
// depend on them.
type lookahead struct {
	s      *search
	ahead  int // options to look ahead
	begun  map[int]int
	slots  chan struct{}
	trials judge.Trials
	group  sync.WaitGroup
}

func (s *search) newLookahead() *lookahead {
	l := &lookahead{s: s, ahead: max(runtime.GOMAXPROCS(0), s.Trials.Workers) - 1,
		begun: map[int]int{}}
	l.slots = make(chan struct{}, max(1, l.ahead))
	l.trials = *s.Trials
	l.trials.Ahead = true
	return l
}

// begin simulates the next options that may win, each with the number of replicas that the search
// would take.
func (l *lookahead) begin(ctx context.Context, next []int) {
	s := l.s
	if s.best < 0 || l.trials.Recorded {
		return // nothing is known yet of what the search will ask
	}
	other := s.Judge
	other.Trials = &l.trials
	for k, found := 0, 0; k < len(next) && found < l.ahead; k++ {
		o := s.options[next[k]]
		if !s.mayWin(o.Index) {
			continue
		}
		found++
		ask := other.Enough
		n, _ := s.first(o)
		if o.Scaled() {
			ask, n = firstAsked(&other, o, s.fixed)
		}
		if l.begun[o.Index] == n {
			continue
		}
		select {
		case l.slots <- struct{}{}:
		default:
			return // enough is under way
		}
		l.begun[o.Index] = n
		l.group.Go(func() {
			defer func() { <-l.slots }()
			_, _ = ask(ctx, o, n) // an error shows again where the trial is needed
		})
	}
}

// close waits for the simulations that run.
func (l *lookahead) close() { l.group.Wait() }
