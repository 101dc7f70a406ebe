package capacity

import (
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/accuracy"
)

// uncertainty returns what the predictions for a scenario rest on, and how wrong they may be.
func uncertainty(s *scenarios.Simulation) (string, physics) {
	steps := s.Steps()
	list := accuracy.Of(steps.Scenario.Engine.Preset, steps.Accelerator.Name, steps.Model.Name)
	switch {
	case len(list) > 0 && list[0].Model != "":
		return "measured", physics{spread: 0.05}
	case len(list) > 0:
		return "relative", physics{spread: 0.12}
	}
	return "formula only", physics{spread: 0.25}
}
