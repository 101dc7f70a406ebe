package capacity

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// byPart reports whether n replicas of an option are judged by a part of them.
func (s *search) byPart(o *candidate.Option, n int) bool {
	return n > oracle.MostWhole && o.Decode == nil && !o.Scaled() &&
		s.trials.Divides(menu.OrNone(s.trials.File.Plan.Menu.Routing)[o.Routing].Policy)
}

// step returns the least difference between numbers of replicas near n that the search resolves.
func (s *search) step(o *candidate.Option, n int) int {
	if s.byPart(o, n) {
		return 1 + n/oracle.Finest
	}
	return 1
}

// law returns how large fleets were judged: nil if the chosen one was simulated whole.
func (s *search) law() *answer.Law {
	if s.best < 0 || !s.byPart(s.chosen(), s.size()) {
		return nil
	}
	return &answer.Law{Replicas: s.size(), Simulated: oracle.Standing, Whole: oracle.MostWhole}
}
