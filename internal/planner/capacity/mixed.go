package capacity

import (
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/horizon"
)

// mixedFleet is replicas of two kinds of server that serve a load at once, spares included.
type mixedFleet struct {
	older, newer *growing
	kept, added  int     // replicas of either
	factor       float64 // the load, as a multiple of the first month's
}

// mixes finds the months of a horizon in which two kinds of server serve at once. Fleets are first
// judged by arithmetic, each replica with the load that it bears in a fleet of its kind, and the
// ones of the cheapest schedule then by simulations of the whole fleet.
type mixes struct {
	months int
	kinds  []*growing
	spare  int
	// joins reports whether two kinds may be in one fleet, and stock whether they are made of the
	// same accelerators.
	joins, stock func(older, newer *growing) bool
	// simulate returns what a fleet shows; nil if it misses the SLO.
	simulate func(f mixedFleet) (*answer.MixedFleet, error)
	missed   []mixedFleet // by simulations
}

// mostMixed bounds how often another schedule with two kinds at once is looked for, because a fleet
// of the last one missed the SLO.
const mostMixed = 8

// cheapest returns the cheapest schedule for a question, and its fleets of two kinds, which keep
// the SLO: plain unless two kinds at once save a hundredth of its cost.
func (x *mixes) cheapest(q *horizon.Question, load func(month int) float64,
	plain *horizon.Schedule) (*horizon.Schedule, []answer.MixedFleet, error) {
	for range mostMixed {
		best, err := horizon.Cheapest(q)
		if err != nil || best.Mix == nil || best.Cost > plain.Cost*(1-worthTuning) {
			return plain, nil, err
		}
		var fleets []answer.MixedFleet
		missed := len(x.missed)
		for m, next := best.Mix.From, 0; m < best.Mix.To; m = next {
			f := mixedFleet{older: x.kinds[best.Mix.Older], newer: x.kinds[best.Mix.Newer],
				kept: best.Mix.Replicas, added: best.Mix.Needs[m-best.Mix.From]}
			for next = m + 1; next < best.Mix.To &&
				best.Mix.Needs[next-best.Mix.From] == f.added; next++ {
			}
			f.factor = load(next - 1)
			shown, err := x.simulate(f)
			if err != nil {
				return nil, nil, err
			}
			if shown == nil {
				x.missed = append(x.missed, f)
				continue
			}
			shown.From, shown.To = m+1, next
			fleets = append(fleets, *shown)
		}
		if len(x.missed) == missed {
			return best, fleets, nil
		}
	}
	return plain, nil, nil
}

// beside is horizon.Question.Beside for the loads of months.
func (x *mixes) beside(load func(month int) float64) func(older, replicas, newer int) [][]float64 {
	return func(older, replicas, newer int) (list [][]float64) {
		f := mixedFleet{older: x.kinds[older], newer: x.kinds[newer], kept: replicas}
		for m := range x.months {
			f.factor = load(m)
			list = append(list, horizon.Always(x.least(f)))
		}
		return list
	}
}

// least returns the least number of replicas of the newer kind with which a fleet keeps the SLO, as
// far as is known; 0 where there are too few.
func (x *mixes) least(f mixedFleet) int {
	old, young := f.older.bears(x.spare), f.newer.bears(x.spare)
	if young == 0 || !x.joins(f.older, f.newer) {
		return 0
	}
	short := f.factor - float64(f.kept)*old
	for f.added = max(1, int(math.Ceil(short/young*(1-1e-12)))); ; f.added++ {
		taken := float64(f.kept) / float64(f.older.most)
		if f.added > f.newer.most || x.stock(f.older, f.newer) &&
			taken+float64(f.added)/float64(f.newer.most) > 1 {
			return 0
		}
		enough := !slices.ContainsFunc(x.missed, func(m mixedFleet) bool {
			return m.older == f.older && m.newer == f.newer && m.kept >= f.kept &&
				m.added >= f.added && m.factor <= f.factor
		})
		for _, left := range f.left(x.spare) {
			bears := float64(float64(left[0])*old) + float64(float64(left[1])*young)
			enough = enough && min(left[0], left[1]) >= 0 && bears >= f.factor*(1-1e-12)
		}
		if enough {
			return f.added
		}
	}
}

// left lists the replicas of either kind that are left while spares are down: as many as possible
// of the newer kind, and of the older one.
func (f *mixedFleet) left(spare int) [][2]int {
	young, old := min(spare, f.added), min(spare, f.kept)
	list := [][2]int{{f.kept - (spare - young), f.added - young}}
	if spare > 0 {
		list = append(list, [2]int{f.kept - old, f.added - (spare - old)})
	}
	return list
}

// bears returns the load that each replica of a server bears while the spares are down, as a
// multiple of the first month's: the highest in the fleets that were simulated.
func (k *growing) bears(spare int) (most float64) {
	for i, n := range k.sizes {
		if n > spare {
			most = max(most, k.factors[i]/float64(n-spare))
		}
	}
	return most
}
