package capacity

import (
	"math"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/metrics"
)

// clause is one part of an SLO, with the share of the requests that must keep it and the share that
// does.
type clause struct {
	// Name names the limit of a percentile; it is empty for the limits that requests must keep at
	// once.
	Name string `json:"name,omitempty"`
	// Class names the class of the requests that must keep it, if there are several classes.
	Class string `json:"class,omitempty"`
	// Latency is that of the limit, or empty.
	Latency metrics.Latency `json:"latency,omitempty"`
	Kept    stats.Interval  `json:"kept"`
	Target  float64         `json:"target"`
}

// used returns how near a clause is to being missed: the share of requests that miss it, divided by
// the share that may.
func (g *clause) used() float64 {
	if g.Target == 1 {
		return (1 - g.Kept.Mean) / 1e-9
	}
	return (1 - g.Kept.Mean) / (1 - g.Target)
}

// binding returns the clause that is nearest to being missed, or is missed by most.
func binding(clauses []clause) clause {
	best := 0
	for i := range clauses {
		if clauses[i].used() > clauses[best].used() {
			best = i
		}
	}
	return clauses[best]
}

// pooled puts the clauses of runs with different seeds together.
func pooled(runs [][]clause) []clause {
	list := make([]clause, len(runs[0]))
	n := float64(len(runs))
	for i := range list {
		list[i] = runs[0][i]
		sum, variance := 0.0, 0.0
		for _, run := range runs {
			sum += run[i].Kept.Mean
			variance += float64(run[i].Kept.Half * run[i].Kept.Half)
		}
		list[i].Kept = stats.Interval{Mean: sum / n, Half: math.Sqrt(variance) / n}
	}
	return list
}

// clauses returns how well requests kept each part of the SLO, and how well all gaps of the run
// kept the limits of gaps.
func clauses(seen *planner.Observation, requests []planner.Request, confidence float64) []clause {
	var list []clause
	add := func(name string, latency metrics.Latency, target float64,
		keeps func(*planner.Request) (kept, counts bool)) {
		list = append(list, clause{Name: name, Latency: latency, Target: target,
			Kept: share(requests, confidence, keeps)})
	}
	classes := seen.Simulation.Scenario.Workload.Classes
	for class := range max(1, len(classes)) {
		promise := seen.Simulation.SLO(class)
		if promise.Share > 0 {
			add("", "", promise.Share, func(r *planner.Request) (kept, counts bool) {
				return r.Kept, r.Class == class || len(classes) == 0
			})
			if len(classes) > 1 {
				list[len(list)-1].Class = classes[class].Name
			}
		}
		for _, l := range promise.Percentiles {
			if l.Latency == metrics.ITL {
				continue
			}
			name := (&metrics.LimitResult{Latency: l.Latency, Percentile: l.Percentile}).Name()
			add(name, l.Latency, l.Percentile/100, func(r *planner.Request) (kept, counts bool) {
				return !r.Rejected && r.Of(l.Latency) <= l.Most, r.Class == class
			})
		}
	}
	for i := range seen.Result.Limits {
		if l := &seen.Result.Limits[i]; l.Latency == metrics.ITL {
			list = append(list,
				clause{Name: l.Name(), Latency: l.Latency, Target: l.Percentile / 100,
					Kept: stats.Interval{Mean: l.Within}})
		}
	}
	return list
}

// share returns the share of the counted requests that kept the clause.
func share(requests []planner.Request, confidence float64,
	keeps func(*planner.Request) (kept, counts bool)) stats.Interval {
	var series []float64
	for i := range requests {
		switch kept, counts := keeps(&requests[i]); {
		case kept && counts:
			series = append(series, 1)
		case counts:
			series = append(series, 0)
		}
	}
	switch {
	case len(series) == 0:
		return stats.Interval{Mean: 1}
	case len(series) < batchCount:
		kept := stats.Mean(series, confidence)
		kept.Half = min(kept.Half, 1) // of a single request nothing is known
		return kept
	}
	return stats.BatchMean(series, batchCount, confidence)
}
