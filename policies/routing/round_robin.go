// Package routing holds the policies that pick a replica for each request.
package routing

import "github.com/llmsim/llmsim/sim"

// RoundRobin sends requests to the replicas in turn.
type RoundRobin struct{ next int }

// Route implements sim.Router.
func (rr *RoundRobin) Route(_ *sim.Request, fleet *sim.Fleet) int {
	i := rr.next
	if rr.next++; rr.next == fleet.Len() {
		rr.next = 0
	}
	return i
}
