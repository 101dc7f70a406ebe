package capacity

import (
	"slices"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// rank returns the place of a grade among those of shipped evidence, the best first; -1 for
// evidence.Here, which is better than all of them.
func rank(g evidence.Grade) int { return slices.Index(evidence.Grades(), g) }

// trusted reports whether a plan that trusts one grade accepts another.
func trusted(trust string, grade evidence.Grade) bool {
	return trust == "" || trust == "any" || rank(grade) <= rank(evidence.Grade(trust))
}

// bestMeasured returns the cheapest measured shape. If no shape was measured, it returns the
// cheapest shape with a better grade than the cheapest of all. It returns nil if there is none, or
// if the cheapest of all was measured.
func bestMeasured(shapes []Shape) *Shape {
	var best *Shape
	for i := range shapes {
		s := &shapes[i]
		switch {
		case s.Replicas == 0:
		case rank(s.Grade) <= rank(evidence.Measured) && i == 0:
			return nil
		case rank(s.Grade) <= rank(evidence.Measured):
			return s
		case best == nil && rank(s.Grade) < rank(shapes[0].Grade):
			best = s
		}
	}
	return best
}
