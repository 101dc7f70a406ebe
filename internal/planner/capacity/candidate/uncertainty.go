package candidate

import (
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Rank returns the place of a grade among those of shipped evidence, the best first; -1 for
// evidence.Here, which is better than all of them.
func Rank(g evidence.Grade) int { return slices.Index(evidence.Grades(), g) }

// trusted reports whether a plan that trusts one grade accepts another.
func trusted(trust string, grade evidence.Grade) bool {
	return trust == "" || trust == "any" || Rank(grade) <= Rank(evidence.Grade(trust))
}

// unmeasured names a latency that the SLO limits, of a server that was measured, but without this
// latency; empty where there is none.
func unmeasured(p *menu.Plan, e *evidence.Evidence) string {
	if e.Grade != evidence.Measured {
		return ""
	}
	list := []scenarios.SLO{p.SLO}
	for i := range p.Workload.Classes {
		list = append(list, p.Workload.Classes[i].SLO)
	}
	for i := range list {
		s := &list[i]
		whole := s.E2E.Strictest() > 0
		for _, one := range []struct {
			name    string
			limited bool
		}{{"TTFT", s.TTFT.Strictest() > 0 || whole}, {"TPOT", s.TPOT.Strictest() > 0 || whole}} {
			if one.limited && !slices.ContainsFunc(e.Errors,
				func(e evidence.Error) bool { return e.Quantity == one.name }) {
				return one.name
			}
		}
	}
	return ""
}

// BestMeasured returns the cheapest measured shape. If no shape was measured, it returns the
// cheapest shape with a better grade than the cheapest of all. It returns nil if there is none, or
// if the cheapest of all was measured.
func BestMeasured(shapes []answer.Shape) *answer.Shape {
	var best *answer.Shape
	for i := range shapes {
		s := &shapes[i]
		switch {
		case s.Replicas == 0:
		case Rank(s.Grade) <= Rank(evidence.Measured) && i == 0:
			return nil
		case Rank(s.Grade) <= Rank(evidence.Measured):
			return s
		case best == nil && Rank(s.Grade) < Rank(shapes[0].Grade):
			best = s
		}
	}
	return best
}
