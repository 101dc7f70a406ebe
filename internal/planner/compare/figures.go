package compare

import (
	"cmp"
	"math"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/scenarios"
)

// figures sums up the runs of t, and their differences from those of base with the same random
// numbers.
func (c *Comparison) figures(base, t *trial) []Figure {
	all := c.measures()
	// Bonferroni: the confidence of all intervals together is the asked one
	confidence := 1 - (1-c.Confidence)/float64(len(all))
	values, differences := make([][]float64, len(all)), make([][]float64, len(all))
	served := true // all that both were asked for, in every run
	for r := range min(len(t.runs), len(base.runs)) {
		here, there := newWindow(t.runs[r], c.WarmUp), newWindow(base.runs[r], c.WarmUp)
		served = served && here.keepsUp() && there.keepsUp()
		for m := range all {
			v := all[m].of(here)
			values[m] = append(values[m], v)
			differences[m] = append(differences[m], difference(v, all[m].of(there)))
		}
	}
	list := make([]Figure, len(all))
	for m := range all {
		d := stats.Mean(differences[m], confidence)
		offered := served && all[m].Name == "output_throughput" && d.Mean != 0
		unit := string(all[m].Unit)
		if all[m].Unit == scenarios.Dollars {
			unit = t.runs[0].Simulation.Scenario.Currency().Unit()
		}
		list[m] = Figure{
			Name: all[m].Name, Title: cmp.Or(all[m].Short, all[m].Name), Unit: unit,
			Value: stats.Mean(values[m], confidence), Difference: d, BeyondNoise: d.Excludes(0),
			Offered: offered,
			noise:   stats.Mean(differences[m], stats.Level).Half,
			Better: d.Excludes(0) && !offered &&
				(d.Mean > 0) == (all[m].Better == scenarios.Higher),
		}
	}
	return list
}

// difference returns a−b, or 0 if the difference is a rounding error.
func difference(a, b float64) float64 {
	if math.Abs(a-b) < stats.Rounding*math.Abs(b) {
		return 0
	}
	return a - b
}
