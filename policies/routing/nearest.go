package routing

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Nearest sends each request to the region that is nearest to its user: there, to the better of two
// replicas drawn at random (see Choices). If that has spill unfinished requests or more, two of the
// next region are drawn. Where all have, the request stays in the nearest.
type Nearest struct {
	rng   *rand.Rand
	spill int                // unfinished requests, at least 1
	known map[origin]*around // listed anew when replicas have started or stopped
}

// origin is a region of users, and the pool that serves them.
type origin struct {
	pool   *sim.Pool
	region int
}

// around is the replicas of a pool as users of a region see them: groups that are as far away, the
// nearest first.
type around struct {
	size   int     // of the pool when they were listed; with another one, the list is stale
	groups [][]int // of replicas, no group empty
}

// NewNearest returns the router that spills over from replicas with that many requests, at least 1.
func NewNearest(spill int, seed uint64) (*Nearest, error) {
	if spill < 1 {
		return nil, fmt.Errorf("spill is %d, want at least 1", spill)
	}
	return &Nearest{stream(seed), spill, map[origin]*around{}}, nil
}

// Route implements sim.Router.
func (n *Nearest) Route(r *sim.Request, pool *sim.Pool) int {
	at := origin{pool, r.Region}
	a := n.known[at]
	if a == nil || a.size != pool.Len() {
		a = list(r, pool)
		n.known[at] = a
	}
	nearest := -1
	for _, group := range a.groups {
		best := group[n.rng.IntN(len(group))]
		other := group[n.rng.IntN(len(group))]
		if !pool.Accepts(best) || !pool.Accepts(other) { // some stopped, the same number started
			delete(n.known, at)
			return n.Route(r, pool)
		}
		if pool.Requests(other) < pool.Requests(best) {
			best = other
		}
		if pool.Requests(best) < n.spill {
			return best
		}
		if nearest < 0 {
			nearest = best
		}
	}
	return nearest
}

// list groups the replicas of a pool by their distance from the user of a request.
func list(r *sim.Request, pool *sim.Pool) *around {
	a := &around{size: pool.Len()}
	by := map[sim.Time]int{}
	for k := range pool.Len() {
		i := pool.At(k)
		trip := pool.RoundTrip(r, i)
		g, known := by[trip]
		if !known {
			g = len(a.groups)
			by[trip], a.groups = g, append(a.groups, nil)
		}
		a.groups[g] = append(a.groups[g], i)
	}
	slices.SortFunc(a.groups, func(x, y []int) int {
		return cmp.Compare(pool.RoundTrip(r, x[0]), pool.RoundTrip(r, y[0]))
	})
	return a
}
