package judge

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// ByPart reports whether n replicas of an option are judged by a part of them.
func (j *Judge) ByPart(o *candidate.Option, n int) bool {
	return n > oracle.MostWhole && o.Decode == nil && !o.Scaled() &&
		j.Trials.Divides(menu.OrNone(j.Trials.File.Plan.Menu.Routing)[o.Routing].Policy)
}

// Step returns the least difference between numbers of replicas near n that the search resolves.
func (j *Judge) Step(o *candidate.Option, n int) int {
	if j.ByPart(o, n) {
		return 1 + n/oracle.Finest
	}
	return 1
}
