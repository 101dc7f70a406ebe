package strategy

import (
	"cmp"
	"math"
	"slices"
)

// Choice is one of the ways to meet a need: what it costs, and what it takes of each stock.
type Choice[T any] struct {
	Is    T
	Cost  float64
	Takes []int
}

// usesNoMore reports whether a choice takes at most what another does, of each stock.
func (c *Choice[T]) usesNoMore(other *Choice[T]) bool {
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

// Together picks a choice for each need so that the stocks suffice and all cost the least together;
// nil where there are none.
func Together[T any](needs [][]Choice[T], stocks []int) []Choice[T] {
	lists := make([][]Choice[T], len(needs))
	rest := make([]float64, len(lists)+1) // the least that the needs from k on cost
	for k := len(lists) - 1; k >= 0; k-- {
		if lists[k] = worthTaking(needs[k]); len(lists[k]) == 0 {
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

// worthTaking returns choices, the cheapest first, without the ones of which another costs no more
// and takes no more of every stock.
func worthTaking[T any](all []Choice[T]) []Choice[T] {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Choice[T]) int { return cmp.Compare(a.Cost, b.Cost) })
	var list []Choice[T]
	for _, c := range all {
		if !slices.ContainsFunc(list, func(d Choice[T]) bool { return d.usesNoMore(&c) }) {
			list = append(list, c)
		}
	}
	return list
}
