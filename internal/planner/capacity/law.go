package capacity

import (
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
)

// A fleet of more than mostWhole alike replicas is judged by standing of them, each of which gets
// as many requests a second. If Poisson arrivals are dealt out at random, those of each replica are
// the same in both fleets (Kingman, "Poisson Processes", 1993, colouring theorem). In turn, or by
// the load of replicas, arrivals at each are no less even in the larger fleet. TestPartsOfFleets
// compares both. Numbers of replicas of such fleets are found to one in finest, since a part cannot
// tell closer ones apart. Whole simulations gave up to partError fewer of them.
const (
	mostWhole = 64
	standing  = 48
	finest    = 100
	partError = 0.04
)

// routingsOfParts lists the routing policies for which parts were compared with whole fleets.
func routingsOfParts() []string {
	return []string{"", "round-robin", "random", "least-requests", "least-tokens", "choices"}
}

// divides reports whether a part of a fleet stands for all of it, under a routing policy.
func (t *trials) divides(routing string) bool {
	process := t.file.Plan.Workload.Arrivals.Process
	return t.file.Plan.Divisible() && slices.Contains(routingsOfParts(), routing) &&
		(process == "" || process == "poisson")
}

// part returns the part of a fleet that is simulated for all of it, and its rate: the fleet itself
// unless it is large.
func (t *trials) part(s scenarios.Scenario, rate float64) (scenarios.Scenario, float64) {
	if s.Replicas <= mostWhole || len(s.Fleet.Pools) > 0 || !t.divides(s.Routing.Policy) {
		return s, rate
	}
	rate *= standing / float64(s.Replicas)
	s.Replicas = standing
	return s, rate
}

// byPart reports whether n replicas of an option are judged by a part of them.
func (s *search) byPart(o *candidate.Option, n int) bool {
	return n > mostWhole && o.Decode == nil && !o.Scaled() &&
		s.trials.divides(menu.OrNone(s.trials.file.Plan.Menu.Routing)[o.Routing].Policy)
}

// step returns the least difference between numbers of replicas near n that the search resolves.
func (s *search) step(o *candidate.Option, n int) int {
	if s.byPart(o, n) {
		return 1 + n/finest
	}
	return 1
}

// law returns how large fleets were judged: nil if the chosen one was simulated whole.
func (s *search) law() *answer.Law {
	if s.best < 0 || !s.byPart(s.chosen(), s.size()) {
		return nil
	}
	return &answer.Law{Replicas: s.size(), Simulated: standing, Whole: mostWhole}
}
