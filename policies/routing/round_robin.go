// Package routing holds the policies that pick a replica for each request, and the policies that
// turn requests away.
package routing

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// RoundRobin sends requests to the replicas in turn.
type RoundRobin struct{ next int }

// Route implements sim.Router.
func (rr *RoundRobin) Route(_ *sim.Request, pool *sim.Pool) int {
	if rr.next >= pool.Len() {
		rr.next = 0
	}
	i := pool.At(rr.next)
	rr.next++
	return i
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
		f.turns[i].next = f.rng.IntN(1 << 20)
	}
	return f, nil
}

// Route implements sim.Router.
func (f *Frontends) Route(r *sim.Request, pool *sim.Pool) int {
	turn := &f.turns[f.rng.IntN(len(f.turns))]
	turn.next %= pool.Len()
	return turn.Route(r, pool)
}

// Blind implements sim.BlindRouter.
func (*Frontends) Blind(*sim.Request) bool { return true }
