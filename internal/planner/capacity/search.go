package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// run finds the best fleet. Options are taken in the order of the least that they could cost, so
// that most of them are seen to cost more than the best so far without a simulation, and most
// others are simulated once: with the most replicas that would still be cheaper.
func (s *search) run(ctx context.Context) error {
	if s.outcomes == nil { // else a fleet to beat is known
		s.best, s.outcomes = -1, make([]outcome, len(s.options))
	}
	order := s.sortOut()
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.leastCost(a), s.leastCost(b)),
			cmp.Compare(s.options[a].BusyCost(), s.options[b].BusyCost()))
	})
	c := &cheapest{search: s, lookahead: s.newLookahead()}
	defer c.lookahead.close()
	c.Open, c.AtOnce, c.MayWin = order, 1, c.mayWin
	return judge.Search(ctx, c)
}

// sortOut notes why some options cannot keep the SLO, and returns the others.
func (s *search) sortOut() (order []int) {
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
	return order
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

// answer finds the best option and sizes it as a fleet. An option whose fleets all miss the SLO,
// although one replica suggests it, is left out, and the search begins again.
func (s *search) answer(ctx context.Context) error {
	for {
		if err := s.run(ctx); err != nil {
			return err
		}
		if s.best < 0 {
			if err := (wholeFleets{s}).find(ctx); err != nil || s.best < 0 {
				return err
			}
		}
		if kept, err := s.sizeBest(ctx); kept || err != nil {
			return err
		}
		if s.missing == nil {
			s.missing = map[int]outcome{}
		}
		s.missing[s.best] = outcome{kind: simulated, closest: s.outcomes[s.best].closest,
			words: "one replica sustains its share, but no fleet keeps the SLO over several runs"}
		s.outcomes = nil
	}
}

// mostWhole is how many options are simulated as whole fleets where no replica keeps the SLO alone,
// whatever its load.
const mostWhole = 3

// wholeFleets looks for a fleet where no option has a replica that keeps the SLO alone.
type wholeFleets struct{ *search }

// find simulates the most replicas of the nearest options whole, and makes the first fleet the best
// that keeps the SLO. A router deals requests out more evenly than chance does, so that fewer of
// them are served by a replica at the same time.
func (s wholeFleets) find(ctx context.Context) error {
	if !s.Trials.File.Plan.Divisible() {
		return nil
	}
	var list []int
	for i, o := range s.options {
		if _, missing := s.missing[i]; s.outcomes[i].kind == simulated && !missing && !o.Scaled() {
			list = append(list, i)
		}
	}
	s.sortByNearness(list)
	for _, i := range list[:min(len(list), mostWhole)] {
		kept, _, err := s.beatsBest(ctx, i, s.Most(s.options[i]))
		if err = s.unlessBroken(i, err); err != nil || kept {
			return err
		}
	}
	return nil
}

// sizeBest finds the size of the best option by simulating whole fleets. Then it tries each other
// option as the largest fleet that costs less, unless a bound excludes it. It reports whether a
// fleet of the best option keeps the SLO.
func (s *search) sizeBest(ctx context.Context) (bool, error) {
	tried := map[int]bool{}
	for next := s.best; next >= 0; next = s.nextCheaper(tried) {
		tried[next] = true
		if s.options[next].Scaled() { // sized as a fleet from the start
			if next != s.best {
				if err := s.try(ctx, next); err != nil {
					return false, err
				}
			}
			continue
		}
		if next != s.best {
			if won, _, err := s.beatsBest(ctx, next, s.mostWorthwhile(next)); err != nil {
				return false, err
			} else if !won {
				continue
			}
		}
		if s.outcomes[next].sized {
			continue
		}
		if kept, err := s.sizeFleet(ctx); err != nil || !kept {
			return false, err
		}
	}
	return true, nil
}

// beatsBest simulates n replicas of option i whole, and makes them the best if they keep the SLO.
// Missing is by how much the share of requests that keep it is below its target.
func (s *search) beatsBest(ctx context.Context, i, n int) (ok bool, missing float64, err error) {
	o := s.options[i]
	d, err := s.Decide(ctx, o, n, o.Worst())
	if err != nil {
		return false, 0, err
	}
	s.tried(i).Add(n)
	if d.Kept {
		s.outcomes[i].replicas = n
		if s.best >= 0 {
			s.outcomes[s.best].words = "another costs less"
		}
		s.makeBest(i)
	}
	return d.Kept, d.Missing, nil
}

// nextCheaper returns an option that was not tried yet and might cost less than the best, or -1 if
// there is no such option.
func (s *search) nextCheaper(tried map[int]bool) int {
	for i, o := range s.options {
		if o.Scaled() {
			if !tried[i] && s.openScaled(i) {
				return i
			}
			continue
		}
		if s.mayBeatBest(i) && !tried[i] && s.mostWorthwhile(i) >= s.Fewest(s.options[i]) {
			return i
		}
	}
	return -1
}

// sizeFleet finds the smallest fleet that keeps the SLO with the asked confidence, and reports
// whether there is one.
func (s *search) sizeFleet(ctx context.Context) (bool, error) {
	outcome := &s.outcomes[s.best]
	n, err := s.smallest(ctx, s.best, outcome.replicas, func(n int, kept float64) {
		s.tried(s.best).Add(n)
		outcome.closest = max(outcome.closest, kept)
	})
	if err != nil || n == 0 {
		return false, err
	}
	s.replicaShare = float64(n) / float64(outcome.replicas)
	outcome.replicas = n
	return true, nil
}

// smallest returns the least number of replicas of option i that keep the SLO with the asked
// confidence; 0 without one. It begins with the n that one replica suggests: a fleet shares its
// requests more evenly than chance does, and a router may do better or worse. From there it moves
// by steps that double, and bisects the last one, so that one replica fewer is known to miss it.
// The number of a large fleet, or of a fleet that is shown beside the answer, is found to one in a
// hundred, and of one that is both, to one in fifty. Each number is noted with the share of
// requests that keep the SLO.
func (s *search) smallest(ctx context.Context, i, n int, note func(n int, kept float64)) (int,
	error) {
	o := s.options[i]
	most := max(n, s.Most(o))
	if s.replicaShare > 0 {
		n = min(max(1, int(math.Round(s.replicaShare*float64(n)))), most)
	}
	keeps := func(n int) (bool, error) {
		ok, kept, err := s.Keeps(ctx, o, n, o.Worst(), s.Seeds)
		if err == nil {
			note(n, kept)
		}
		return ok, err
	}
	near := func(n int) int {
		if s.Trials.Rough {
			return s.Step(o, n) + n/judge.Finest
		}
		return s.Step(o, n)
	}
	l := judge.Least{First: n, Low: o.Based(), Most: most, Step: s.Step(o, n), Near: near(n)}
	found, err := s.FindLeast(ctx, o, l, keeps)
	if fine := near(found); err == nil && 0 < found && fine < l.Near {
		l = judge.Least{First: max(found-fine, l.Low+1), Low: l.Low, Most: found - 1, High: found,
			Step: 2 * fine, Near: fine}
		found, err = s.FindLeast(ctx, o, l, keeps)
	}
	return found, err
}

// newSearch prepares the options of the menu.
func newSearch(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*search, error) {
	options, err := candidate.Options(f)
	if err != nil {
		return nil, err
	}
	t := &judge.Trials{File: f, Clocks: scenarios.NewClocks(), Queue: q, Journal: o.Journal,
		Ran: o.Ran, Shard: o.Shard, Recorded: o.Recorded, Workers: o.Queue.Workers,
		Ledger: &judge.Ledger{Known: map[string]*judge.Entry{}}}
	s, err := among(ctx, options, t)
	if err != nil {
		return nil, err
	}
	s.curved, s.short, s.leads = o.Curves, o.Short, o.Leads
	return s, s.CheckScalings(options)
}

// among returns a search among options, after finding out which of them can be built.
func among(ctx context.Context, options []*candidate.Option, t *judge.Trials) (*search, error) {
	if err := candidate.Prepare(ctx, t.File, options); err != nil {
		return nil, err
	}
	p := &t.File.Plan
	return &search{standing: standing{options: options, best: -1, Judge: judge.Judge{
		Rate: p.Peak(), Spare: p.Fleet.Spare, Seeds: judge.MostSeeds, Trials: t}}}, nil
}

// search looks for the cheapest fleet of replicas of one kind.
type search struct {
	standing
	// replicaShare is the share of the replicas that one suggests with which a fleet was found to
	// do; 0 where that is not known.
	replicaShare float64
	// joint is set where other models take accelerators from the same stock.
	joint bool
	// shared is set where the fleet is not the best for this model alone for that reason.
	shared bool
	// fixed is what is known of the least fixed number of replicas of options that are scaled.
	fixed map[candidate.SameButScaling]int
	// missing is what became of options whose fleets all miss the SLO, although one replica
	// suggests it.
	missing map[int]outcome
	// checked is how many fleets were simulated whole because rules that are not proven had left
	// them out, and better how many of these were better than what was known.
	checked, better int
	// answered is how many requests were simulated for the first answer, and undone what was left
	// out after it because no more were to be simulated.
	answered int64
	undone   []string
	// leads is told the best fleet so far; nil where nobody is. Told is what it was told last.
	leads func(words string)
	told  string
	// curved asks for simulations of the answer below and above its load, and short for no more
	// than a short page shows.
	curved, short bool
	// tuned is what settings beside the menu's brought; nil where no settings were tried.
	tuned *answer.Tuned
}

// fleet describes the best fleet.
func (s *search) fleet() *detail.Fleet {
	best := &s.outcomes[s.best]
	return &detail.Fleet{Judge: s.Judge, Option: s.chosen(), Replicas: best.replicas,
		Running: best.running, Hourly: s.cost(), Millions: s.millions(), LeastFixed: s.leastFixed,
		Curved: s.curved}
}
