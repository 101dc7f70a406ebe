package planner

import (
	"slices"

	"github.com/llmsim/llmsim/scenarios"
)

// Metrics lists the figures of a result that sweeps have a column and a plot of.
func Metrics() []scenarios.Metric {
	return slices.DeleteFunc(scenarios.Metrics(), func(m scenarios.Metric) bool { return !m.Swept })
}
