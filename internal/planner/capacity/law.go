package capacity

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// byPart reports whether n replicas of an option are judged by a part of them.
func (s *judge) byPart(o *candidate.Option, n int) bool {
	return n > oracle.MostWhole && o.Decode == nil && !o.Scaled() &&
		s.trials.Divides(menu.OrNone(s.trials.File.Plan.Menu.Routing)[o.Routing].Policy)
}

// step returns the least difference between numbers of replicas near n that the search resolves.
func (s *judge) step(o *candidate.Option, n int) int {
	if s.byPart(o, n) {
		return 1 + n/oracle.Finest
	}
	return 1
}
