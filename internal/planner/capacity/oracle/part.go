package oracle

import (
	"slices"

	"github.com/llmsim/llmsim/scenarios"
)

// A fleet of more than MostWhole alike replicas is judged by Standing of them, each of which gets
// as many requests a second. If Poisson arrivals are dealt out at random, those of each replica are
// the same in both fleets (Kingman, "Poisson Processes", 1993, colouring theorem). In turn, or by
// the load of replicas, arrivals at each are no less even in the larger fleet. TestPartsOfFleets
// compares both. Numbers of replicas of such fleets are found to one in Finest, since a part cannot
// tell closer ones apart. Whole simulations gave up to PartError fewer of them.
const (
	MostWhole = 64
	Standing  = 48
	Finest    = 100
	PartError = 0.04
)

// RoutingsOfParts lists the routing policies for which parts were compared with whole fleets.
func RoutingsOfParts() []string {
	return []string{"", "round-robin", "random", "least-requests", "least-tokens", "choices"}
}

// Divides reports whether a part of a fleet stands for all of it, under a routing policy.
func (t *Trials) Divides(routing string) bool {
	process := t.File.Plan.Workload.Arrivals.Process
	return t.File.Plan.Divisible() && slices.Contains(RoutingsOfParts(), routing) &&
		(process == "" || process == "poisson")
}

// Part returns the part of a fleet that is simulated for all of it, and its rate: the fleet itself
// unless it is large.
func (t *Trials) Part(s scenarios.Scenario, rate float64) (scenarios.Scenario, float64) {
	if s.Replicas <= MostWhole || len(s.Fleet.Pools) > 0 || !t.Divides(s.Routing.Policy) {
		return s, rate
	}
	rate *= Standing / float64(s.Replicas)
	s.Replicas = Standing
	return s, rate
}
