package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/scenarios"
)

// The two sides of the Pareto front, by the names of metrics.
const (
	frontCost    = "cost_per_million_output_tokens"
	frontLatency = "p99_e2el_ms"
)

// column returns the place of a metric in Row.Values.
func column(name string) int {
	return slices.IndexFunc(planner.Metrics(), func(m scenarios.Metric) bool {
		return m.Name == name
	})
}

// markFront marks the rows that no other row beats in both the price of a token and the 99th
// percentile of the latency. There is no front if prices are not known.
func (r *Results) markFront() {
	cost, latency := column(frontCost), column(frontLatency)
	var order []int
	for i := range r.Rows {
		if v := r.Rows[i].Values; v != nil && v[cost] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := r.Rows[a].Values, r.Rows[b].Values
		return cmp.Or(cmp.Compare(x[cost], y[cost]), cmp.Compare(x[latency], y[latency]))
	})
	fastest := math.Inf(1)
	for _, i := range order {
		if l := r.Rows[i].Values[latency]; l < fastest {
			r.Rows[i].Pareto, fastest = true, l
		}
	}
}
