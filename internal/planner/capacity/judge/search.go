package judge

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
)

// Space is what is searched: the candidates that are open, with bounds on how good they can be.
type Space[C any] interface {
	// Next takes candidates that may be the best, by their bounds, off the open ones: those to try
	// at the same time. It returns no candidate at the end of the search.
	Next() []C
	// Try tries candidates, notes what that shows, and may put them back with narrower bounds. An
	// error ends the search.
	Try(ctx context.Context, some []C) error
}

// Search tries the candidates of a space, the ones with the best bounds first, until no open one
// may be better than what was found. This is best-first branch and bound (Lawler and Wood,
// "Branch-and-Bound Methods: A Survey", Operations Research 14(4), 1966).
func Search[C any](ctx context.Context, s Space[C]) error {
	for some := s.Next(); len(some) > 0; some = s.Next() {
		if err := s.Try(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// Ordered is candidates whose bounds do not change, in the order of these.
type Ordered[C any] struct {
	Open   []C
	AtOnce int // the most that are tried at the same time
	// MayWin reports whether a candidate may be the best, given what was found so far.
	MayWin func(C) bool
}

// Next takes the first candidates that may be the best, and drops the others before them.
func (o *Ordered[C]) Next() []C {
	var some []C
	for len(o.Open) > 0 && len(some) < o.AtOnce {
		if c := o.Open[0]; o.MayWin(c) {
			some = append(some, c)
		}
		o.Open = o.Open[1:]
	}
	return some
}

// ErrStop ends the search for the least number, which then stays unknown.
var ErrStop = errors.New("stop")

// Least looks for the least number that suffices, where more than a number that does suffice too.
// It begins with First, goes up or down from there by steps that double, and then bisects.
type Least struct {
	First int
	Low   int // does not suffice
	Most  int // the largest number to try
	High  int // is known to suffice, above Most; 0 where it is unknown
	Step  int // the first step; 0 bisects from Low to the first number that suffices
	// Near is 1 plus how far above the least the result may be. The result is 0 only where no
	// number up to Most suffices.
	Near int
}

// Find returns the least number; 0 where no number up to Most suffices. An error of enough ends it.
func (l Least) Find(enough func(n int) (bool, error)) (int, error) {
	n, low, high, found := l.First, l.Low, l.Most+1, l.High > 0
	if found {
		high = l.High
	}
	for step := l.Step; high-low > l.Near || !found && high-low > 1; step *= 2 {
		ok, err := enough(n)
		switch {
		case errors.Is(err, ErrStop):
			return 0, nil
		case err != nil:
			return 0, err
		case ok:
			high, found = n, true
		default:
			low = n
		}
		switch {
		case !found:
			n = min(low+step, l.Most)
		case low == l.Low && step > 0:
			n = max(high-step, low+1)
		default:
			n = (low + high) / 2
		}
	}
	if !found {
		return 0, nil
	}
	return high, nil
}

// Numbers is which numbers were tried, of those whose order is not proven to matter.
type Numbers struct {
	First int // the first that was tried; 0 where no number was
	seen  map[int]bool
	top   int // a higher number shows the same as this; 0 where it is unknown
}

// Add counts a number as tried.
func (t *Numbers) Add(n int) {
	if t.seen == nil {
		t.seen, t.First = map[int]bool{}, n
	}
	t.seen[n] = true
}

// Forget counts a number as not tried.
func (t *Numbers) Forget(n int) { delete(t.seen, n) }

// SameAbove notes whether all numbers above n show the same as n.
func (t *Numbers) SameAbove(n int, settled bool) {
	if settled && (t.top == 0 || n < t.top) {
		t.top = n
	}
}

// Next returns the number that was not tried, of the ones between two, that is nearest to the first
// that was, or else to near; 0 where all were.
func (t *Numbers) Next(from, to, near int) int {
	if t.seen != nil {
		near = t.First
	}
	if t.top > 0 {
		to = min(to, t.top)
	}
	near = min(max(near, from), to)
	for d := 0; near+d <= to || near-d >= from; d++ {
		for _, n := range [...]int{near + d, near - d} {
			if from <= n && n <= to && !t.seen[n] {
				return n
			}
		}
	}
	return 0
}

// Choice is one of the ways to meet a need: what it costs, and what it takes of each stock.
type Choice[T any] struct {
	Value T
	Cost  float64
	Takes []int
}

// dominates reports whether a choice takes at most what another does, of each stock.
func (c *Choice[T]) dominates(other *Choice[T]) bool {
	for i := range c.Takes {
		if c.Takes[i] > other.Takes[i] {
			return false
		}
	}
	return true
}

// Fit reports whether stocks suffice for all that is taken of them.
func Fit(stocks []int, takes ...[]int) bool {
	for i, stock := range stocks {
		for _, t := range takes {
			stock -= t[i]
		}
		if stock < 0 {
			return false
		}
	}
	return true
}

// CheapestAssignment picks a choice for each need so that the stocks suffice and all cost the least
// together; nil where no choices fit. It is a multiple-choice knapsack, solved by branch and bound.
func CheapestAssignment[T any](needs [][]Choice[T], stocks []int) []Choice[T] {
	lists := make([][]Choice[T], len(needs))
	rest := make([]float64, len(lists)+1) // the least that the needs from k on cost
	for k := len(lists) - 1; k >= 0; k-- {
		if lists[k] = pareto(needs[k]); len(lists[k]) == 0 {
			return nil
		}
		rest[k] = rest[k+1] + lists[k][0].Cost
	}
	var best []Choice[T]
	least := math.Inf(1)
	var extend func(picked []Choice[T], left []int, cost float64)
	extend = func(picked []Choice[T], left []int, cost float64) {
		k := len(picked)
		if k == len(lists) {
			best, least = slices.Clone(picked), cost
			return
		}
		for _, c := range lists[k] {
			if cost+c.Cost+rest[k+1] >= least {
				return
			}
			if !Fit(left, c.Takes) {
				continue
			}
			after := slices.Clone(left)
			for i, n := range c.Takes {
				after[i] -= n
			}
			extend(append(picked, c), after, cost+c.Cost)
		}
	}
	extend(nil, stocks, 0)
	return best
}

// pareto returns choices, the cheapest first, without each one that another dominates: it
// costs no more and takes no more of every stock.
func pareto[T any](all []Choice[T]) []Choice[T] {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Choice[T]) int { return cmp.Compare(a.Cost, b.Cost) })
	var list []Choice[T]
	for _, c := range all {
		if !slices.ContainsFunc(list, func(d Choice[T]) bool { return d.dominates(&c) }) {
			list = append(list, c)
		}
	}
	return list
}
