package capacity

import (
	"slices"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// rank returns the place of a grade among all, the best first.
func rank(g evidence.Grade) int { return slices.Index(evidence.Grades(), g) }

// trusted reports whether a plan that trusts one grade takes another.
func trusted(trust string, grade evidence.Grade) bool {
	return trust == "" || trust == "any" || rank(grade) <= rank(evidence.Grade(trust))
}

// bestMeasured returns the cheapest shape that was measured, where the cheapest of all was not; nil
// where there is none.
func bestMeasured(shapes []Shape) *Shape {
	for i := range shapes {
		switch {
		case shapes[i].Replicas == 0:
		case shapes[i].Grade == evidence.Measured && i == 0:
			return nil
		case shapes[i].Grade == evidence.Measured:
			return &shapes[i]
		}
	}
	return nil
}
