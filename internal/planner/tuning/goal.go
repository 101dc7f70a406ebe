package tuning

import (
	"errors"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Goal is a figure to make as small, or as large, as possible.
type Goal struct {
	// Name is the word for --goal. Title names the figure, and Unit is its unit: "%" or that of a
	// metric.
	Name, Title, Unit string
	// Higher is set where more is better.
	Higher bool
	of     func(o *planner.Observation) float64
}

// Goals lists the known goals.
func Goals() []Goal {
	return []Goal{
		{Name: "slo", Title: "use of the SLO's tightest limit", Unit: "%", of: use},
		{Name: "latency", Title: "mean time of a whole request", Unit: "ms",
			of: func(o *planner.Observation) float64 { return o.Result.MeanE2EL }},
		{Name: "throughput", Title: "output tokens", Unit: "1/s", Higher: true,
			of: func(o *planner.Observation) float64 { return o.Result.OutputThroughput }},
	}
}

// goal returns the goal of that name. Without a name it is slo, or throughput if all requests
// arrive at the start.
func goal(name string, s *scenarios.Scenario) (Goal, error) {
	if name == "" {
		name = "slo"
		if s.Workload.Arrivals.Process == "at-once" {
			name = "throughput"
		}
	}
	var names []string
	for _, g := range Goals() {
		if g.Name == name {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return Goal{}, scenarios.BadInput(errors.New(nearest.Unknown("goal", name, names)))
}

// loss returns a figure as one of which less is better.
func (g *Goal) loss(o *planner.Observation) float64 {
	if g.Higher {
		return -g.of(o)
	}
	return g.of(o)
}

// turnedAway is the latency of a request without an answer, as a multiple of its limits.
const turnedAway = 1000

// use returns how much of the limits of its SLO a run uses, in percent: at 100 the SLO is just
// kept. It is that of the class and the limit that binds.
func use(o *planner.Observation) float64 {
	byClass := map[int][]*planner.Request{}
	for i := range o.Requests {
		r := &o.Requests[i]
		byClass[r.Class] = append(byClass[r.Class], r)
	}
	most := 0.0
	for class, requests := range byClass {
		most = max(most, useOf(o.Simulation.SLO(class), requests))
	}
	for i := range o.Result.Limits {
		if l := &o.Result.Limits[i]; l.Latency == metrics.ITL {
			most = max(most, l.Used())
		}
	}
	return 100 * most
}

// useOf returns the largest share of a limit that requests of one class use: of limits that they
// must keep at once, the quantile of what each uses, and of each limit of a percentile.
func useOf(slo metrics.SLO, requests []*planner.Request) float64 {
	most := 0.0
	if slo.Share > 0 {
		most = quantile(slo.Share, requests, func(r *planner.Request) float64 {
			return max(ratio(r.TTFT, slo.TTFT), ratio(r.TPOT, slo.TPOT), ratio(r.E2E, slo.E2E))
		})
	}
	for _, l := range slo.Percentiles {
		if l.Latency != metrics.ITL { // gaps are not kept by request
			most = max(most, quantile(l.Percentile/100, requests,
				func(r *planner.Request) float64 { return ratio(r.Of(l.Latency), l.Most) }))
		}
	}
	return most
}

// ratio returns a latency as a share of its limit; 0 where there is none.
func ratio(latency, limit sim.Time) float64 {
	if limit == 0 {
		return 0
	}
	return float64(latency) / float64(limit)
}

// quantile returns the least value that a share of the requests does not exceed.
func quantile(share float64, requests []*planner.Request,
	of func(r *planner.Request) float64) float64 {
	values := make([]float64, len(requests))
	for i, r := range requests {
		if values[i] = turnedAway; !r.Rejected {
			values[i] = of(r)
		}
	}
	slices.Sort(values)
	const rounding = 1e-9 // of 0.99 times a count of requests
	n := int(math.Ceil(float64(share*float64(len(values))) - rounding))
	return values[max(0, n-1)]
}
