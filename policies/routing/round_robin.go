// Package routing holds the policies that pick a replica for each request, and the policies that
// turn requests away.
package routing

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// RoundRobin sends the requests of each pool to its replicas in turn.
type RoundRobin struct {
	first int // the place of the replica that has the first turn, modulo the size of the pool
	// next has the places after those that had the last turn. One place for all pools would send
	// every other request of two pools to the same replicas.
	next map[*sim.Pool]int
}

// Route implements sim.Router.
func (rr *RoundRobin) Route(_ *sim.Request, pool *sim.Pool) int {
	at, known := rr.next[pool]
	switch {
	case rr.next == nil:
		rr.next = map[*sim.Pool]int{}
		fallthrough
	case !known:
		at = rr.first % pool.Len()
	case at >= pool.Len():
		at = 0
	}
	rr.next[pool] = at + 1
	return pool.At(at)
}

// Blind implements sim.BlindRouter.
func (*RoundRobin) Blind(*sim.Request) bool { return true }

// Frontends are routers that each send to the replicas in turn; a request comes to one of them at
// random.
type Frontends struct {
	turns []RoundRobin
	rng   *rand.Rand
}

// maxFrontends bounds the number of frontends.
const maxFrontends = 1000

// NewFrontends returns n frontends, each of which begins anywhere. The seed determines where, and
// which of them gets a request.
func NewFrontends(n int, seed uint64) (*Frontends, error) {
	if n < 1 || n > maxFrontends {
		return nil, fmt.Errorf("frontends: found %d, allowed: 1 to %d", n, maxFrontends)
	}
	f := &Frontends{make([]RoundRobin, n), stream(seed)}
	for i := range f.turns {
		f.turns[i].first = f.rng.IntN(1 << 20)
	}
	return f, nil
}

// Route implements sim.Router.
func (f *Frontends) Route(r *sim.Request, pool *sim.Pool) int {
	return f.turns[f.rng.IntN(len(f.turns))].Route(r, pool)
}

// Blind implements sim.BlindRouter.
func (*Frontends) Blind(*sim.Request) bool { return true }
