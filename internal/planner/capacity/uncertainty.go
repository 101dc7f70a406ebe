package capacity

import (
	"slices"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/accuracy"
)

// Grades of evidence, the best first.
const (
	measured    = "measured"
	relative    = "relative"
	formulaOnly = "formula only"
)

// grades lists them, the best first.
func grades() []string { return []string{measured, relative, formulaOnly} }

// trusted reports whether a plan that trusts one grade takes another.
func trusted(trust, grade string) bool {
	return trust == "" || trust == "any" || slices.Index(grades(), grade) <= slices.Index(grades(), trust)
}

// bestMeasured returns the cheapest shape that was measured, where the cheapest of all was not; nil where there is none.
func bestMeasured(shapes []Shape) *Shape {
	for i := range shapes {
		switch {
		case shapes[i].Replicas == 0:
		case shapes[i].Grade == measured && i == 0:
			return nil
		case shapes[i].Grade == measured:
			return &shapes[i]
		}
	}
	return nil
}

// uncertainty returns what the predictions for a scenario rest on, and how wrong they may be.
func uncertainty(s *scenarios.Simulation) (string, physics) {
	key, predicted := s.Key()
	switch {
	case !predicted:
	case len(accuracy.Of(key)) > 0:
		return measured, physics{spread: 0.05}
	case accuracy.OfRelatives(key):
		return relative, physics{spread: 0.12}
	}
	return formulaOnly, physics{spread: 0.25}
}
