package asked

import (
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/metrics"
)

// Clause is one part of an SLO, with the share of the requests that must keep it and the share that
// does.
type Clause struct {
	// Name names the limit of a percentile; it is empty for the limits that requests must keep at
	// once.
	Name string `json:"name,omitempty"`
	// Class names the class of the requests that must keep it, if there are several classes.
	Class string `json:"class,omitempty"`
	// Latency is that of the limit, or empty.
	Latency metrics.Latency `json:"latency,omitempty"`
	Kept    stats.Interval  `json:"kept"`
	Target  float64         `json:"target"`
	// Late has the shares if TTFT were other than simulated, for each of LateFactors. It is absent
	// where TTFT does not matter.
	Late []stats.Interval `json:"kept_by_ttft,omitempty"`
}

// used returns how near a clause is to being missed: the share of requests that miss it, divided by
// the share that may.
func (g *Clause) used() float64 {
	if g.Target == 1 {
		return (1 - g.Kept.Mean) / 1e-9
	}
	return (1 - g.Kept.Mean) / (1 - g.Target)
}

// Binding returns the clause that is nearest to being missed, or is missed by most.
func Binding(clauses []Clause) Clause { return clauses[BindingPart(clauses)] }

// BindingPart returns the place of the clause that binds.
func BindingPart(clauses []Clause) int {
	best := 0
	for i := range clauses {
		if clauses[i].used() > clauses[best].used() {
			best = i
		}
	}
	return best
}

// Pooled puts the clauses of runs with different seeds together.
func Pooled(runs [][]Clause) []Clause {
	list := make([]Clause, len(runs[0]))
	for i := range list {
		list[i] = runs[0][i]
		list[i].Kept = mean(runs, func(run []Clause) stats.Interval { return run[i].Kept })
		list[i].Late = slices.Clone(list[i].Late)
		for k := range list[i].Late {
			list[i].Late[k] = mean(runs, func(run []Clause) stats.Interval {
				return run[i].Late[k]
			})
		}
	}
	return list
}

// mean returns the mean of an interval of runs that are independent.
func mean(runs [][]Clause, of func(run []Clause) stats.Interval) stats.Interval {
	sum, variance, n := 0.0, 0.0, float64(len(runs))
	for _, run := range runs {
		one := of(run)
		sum += one.Mean
		variance += float64(one.Half * one.Half)
	}
	return stats.Interval{Mean: sum / n, Half: math.Sqrt(variance) / n}
}

// Clauses returns how well requests kept each part of the SLO, and how well all gaps of the run
// kept the limits of gaps.
func Clauses(seen *planner.Observation, requests []planner.Request, confidence float64) []Clause {
	var list []Clause
	add := func(g Clause, limits metrics.SLO, counts func(*planner.Request) bool) {
		var rooms []float64
		for i := range requests {
			if r := &requests[i]; counts(r) {
				rooms = append(rooms, Room(r, &limits))
			}
		}
		g.Kept = ShareKept(rooms, 1, confidence)
		if limits.TTFT > 0 || limits.E2E > 0 {
			g.Late = Lateness(rooms, confidence)
		}
		list = append(list, g)
	}
	classes := seen.Simulation.Scenario.Workload.Classes
	for class := range max(1, len(classes)) {
		promise := seen.Simulation.SLO(class)
		if promise.Share > 0 {
			g := Clause{Target: promise.Share}
			if len(classes) > 1 {
				g.Class = classes[class].Name
			}
			add(g, promise, func(r *planner.Request) bool {
				return r.Class == class || len(classes) == 0
			})
		}
		for _, l := range promise.Percentiles {
			if l.Latency == metrics.ITL {
				continue
			}
			g := Clause{Latency: l.Latency, Target: l.Percentile / 100,
				Name: (&metrics.LimitResult{Latency: l.Latency, Percentile: l.Percentile}).Name()}
			var limits metrics.SLO
			switch l.Latency {
			case metrics.TTFT:
				limits.TTFT = l.Most
			case metrics.TPOT:
				limits.TPOT = l.Most
			default:
				limits.E2E = l.Most
			}
			add(g, limits, func(r *planner.Request) bool { return r.Class == class })
		}
	}
	for i := range seen.Result.Limits {
		if l := &seen.Result.Limits[i]; l.Latency == metrics.ITL {
			list = append(list,
				Clause{Name: l.Name(), Latency: l.Latency, Target: l.Percentile / 100,
					Kept: stats.Interval{Mean: l.Within}})
		}
	}
	return list
}

// Under returns the clause where TTFT is that many times what was simulated.
func (g Clause) Under(factor float64) Clause {
	if g.Late != nil && factor != 1 {
		g.Kept = shareKeptAt(g.Late, factor)
	}
	return g
}

// MostLate returns the largest factor on TTFT under which clauses are kept: 0 for none, and +Inf
// where TTFT does not matter.
func MostLate(clauses []Clause) float64 {
	least := math.Inf(1)
	for i := range clauses {
		switch g := &clauses[i]; {
		case g.Late != nil:
			least = min(least, MostKept(g.Late, g.Target))
		case g.Kept.Mean < g.Target-1e-12:
			return 0
		}
	}
	return least
}
