// Package routing holds the policies that pick a replica for each request, and the policies that
// turn requests away.
package routing

import "github.com/llmsim/llmsim/sim"

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
