package asked

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Clause is one part of an SLO, with the share of the requests that must keep it and the share that
// does.
type Clause struct {
	// Name names the limit of a percentile; it is empty for the limits that requests must keep at
	// once.
	Name string `json:"name,omitempty"`
	// Class names the class of the requests that must keep it, if there are several classes.
	Class string `json:"class,omitempty"`
	// Latency names the latency that is limited, or is empty.
	Latency metrics.Latency `json:"latency,omitempty"`
	// Limits names the latencies that requests must keep within limits.
	Limits []metrics.Latency `json:"limits,omitempty"`
	Kept   stats.Interval    `json:"kept"`
	Target float64           `json:"target"`
	// Late has the shares if TTFT were other than simulated, for each of LateFactors. It is absent
	// where TTFT does not matter.
	Late []stats.Interval `json:"kept_by_ttft,omitempty"`
	// Whole has the shares if all latencies that are limited were other than simulated, TTFT alone
	// excepted, for each of LateFactors. It is absent up to the percentile whose error is the
	// mean's.
	Whole []stats.Interval `json:"kept_by_latency,omitempty"`
}

// Late is factors on latencies, beyond what steps make of them.
type Late struct {
	// First is on TTFT, and FirstTail on TTFT where a high percentile is limited. Tail is on TPOT
	// and E2E latency where a high percentile is.
	First, FirstTail, Tail float64
}

// LateBy returns a factor on TTFT alone.
func LateBy(first float64) Late { return Late{first, first, 1} }

// Least returns the smallest factor.
func (l Late) Least() float64 { return min(l.First, l.FirstTail, l.Tail) }

// Toward returns factors at a share of the way to others, by their logarithms. They are not known
// where a factor is 0, or has no bound, at one end alone.
func (l Late) Toward(other Late, share float64) (between Late, known bool) {
	known = true
	mix := func(from, to float64) float64 {
		switch {
		case from == to:
			return from
		case min(from, to) <= 0 || math.IsInf(max(from, to), 1):
			known = false
		}
		return from * math.Pow(to/from, share)
	}
	between = Late{mix(l.First, other.First), mix(l.FirstTail, other.FirstTail),
		mix(l.Tail, other.Tail)}
	return between, known
}

// And returns the smaller of each factor.
func (l Late) And(other Late) Late {
	return Late{min(l.First, other.First), min(l.FirstTail, other.FirstTail),
		min(l.Tail, other.Tail)}
}

// LimitsHigh reports whether the plan limits a percentile that has an error of its own.
func (p *Plan) LimitsHigh() bool {
	list := []scenarios.SLO{p.SLO}
	for i := range p.Workload.Classes {
		list = append(list, p.Workload.Classes[i].SLO)
	}
	return slices.ContainsFunc(list, func(s scenarios.SLO) bool {
		return s.Joint() && evidence.High(s.Complete().Percentile/100) || s.TTFT.P99 > 0 ||
			s.TPOT.P99 > 0 || s.E2E.P99 > 0
	})
}

// high reports whether a clause limits a percentile that has an error of its own.
func (g *Clause) high() bool { return evidence.High(g.Target) && g.Latency != metrics.E2E }

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
		list[i].Late, list[i].Whole = slices.Clone(list[i].Late), slices.Clone(list[i].Whole)
		for k := range list[i].Late {
			list[i].Late[k] = mean(runs, func(run []Clause) stats.Interval {
				return run[i].Late[k]
			})
		}
		for k := range list[i].Whole {
			list[i].Whole[k] = mean(runs, func(run []Clause) stats.Interval {
				return run[i].Whole[k]
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
		var rooms, whole []float64
		for i := range requests {
			if r := &requests[i]; counts(r) {
				rooms = append(rooms, Room(r, &limits))
				whole = append(whole, wholeRoom(r, &limits))
			}
		}
		for latency, limit := range map[metrics.Latency]sim.Time{metrics.TTFT: limits.TTFT,
			metrics.TPOT: limits.TPOT, metrics.E2E: limits.E2E} {
			if limit > 0 {
				g.Limits = append(g.Limits, latency)
			}
		}
		slices.Sort(g.Limits)
		g.Kept = ShareKept(rooms, 1, confidence)
		if limits.TTFT > 0 || limits.E2E > 0 {
			g.Late = Lateness(rooms, confidence)
		}
		if evidence.High(g.Target) && (limits.TPOT > 0 || limits.E2E > 0) {
			g.Whole = Lateness(whole, confidence)
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

// Under returns the clause where latencies are that many times what was simulated.
func (g Clause) Under(late Late) Clause {
	first := late.First
	if g.high() {
		first = late.FirstTail
	}
	simulated := g.Kept
	if g.Late != nil && first != 1 {
		g.Kept = shareKeptAt(g.Late, first)
	}
	if g.Whole != nil && late.Tail != 1 {
		if whole := shareKeptAt(g.Whole, late.Tail); whole.Mean < min(g.Kept.Mean,
			simulated.Mean) {
			g.Kept = whole
		}
	}
	return g
}

// LimitWords names the limits that requests miss where TTFT is late, or else where the other
// latencies are: "TTFT", or "E2E or TTFT" where both may be missed by that.
func (g *Clause) LimitWords(first bool) string {
	late := metrics.TPOT
	if first {
		late = metrics.TTFT
	}
	var list []string
	for _, l := range g.Limits {
		if l == late || l == metrics.E2E {
			list = append(list, strings.ToUpper(string(l)))
		}
	}
	return cmp.Or(g.Name, strings.Join(list, " or "))
}

// MostLate returns the largest factors on latencies under which clauses are kept: 0 where no factor
// is small enough, and +Inf where a latency does not matter.
func MostLate(clauses []Clause) Late {
	all := Late{math.Inf(1), math.Inf(1), math.Inf(1)}
	for i := range clauses {
		g := &clauses[i]
		first := &all.First
		if g.high() {
			first = &all.FirstTail
		}
		if g.Late != nil {
			*first = min(*first, MostKept(g.Late, g.Target))
		}
		if g.Whole != nil {
			all.Tail = min(all.Tail, MostKept(g.Whole, g.Target))
		}
		if g.Late == nil && g.Whole == nil && g.Kept.Mean < g.Target-1e-12 {
			return Late{}
		}
	}
	return all
}

// A clause has the shares of requests that keep it for factors on TTFT from one over lateMost to
// lateMost, each lateStep times the one before.
const (
	lateSteps = 24 // to each side of 1
	lateMost  = 8.0
)

// LateFactors lists the factors on TTFT for which clauses have shares.
func LateFactors() []float64 {
	list := make([]float64, 2*lateSteps+1)
	for k := range list {
		list[k] = math.Pow(lateMost, float64(k-lateSteps)/lateSteps)
	}
	return list
}

// Room returns the largest factor on a request's TTFT under which it keeps its limits (a limit of 0
// does not apply): the time after the first token stays what it is.
func Room(r *planner.Request, limits *metrics.SLO) float64 {
	if r.Rejected || limits.TPOT > 0 && r.TPOT > limits.TPOT {
		return 0
	}
	most := math.Inf(1)
	if limits.TTFT > 0 {
		most = min(most, float64(limits.TTFT)/float64(max(r.TTFT, 1)))
	}
	if limits.E2E > 0 {
		most = min(most, float64(limits.E2E-(r.E2E-r.TTFT))/float64(max(r.TTFT, 1)))
	}
	return max(most, 0)
}

// wholeRoom returns the largest factor on all latencies of a request that are limited, TTFT
// excepted, under which it keeps its limits.
func wholeRoom(r *planner.Request, limits *metrics.SLO) float64 {
	if r.Rejected || limits.TTFT > 0 && r.TTFT > limits.TTFT {
		return 0
	}
	most := math.Inf(1)
	if limits.TPOT > 0 {
		most = min(most, float64(limits.TPOT)/float64(max(r.TPOT, 1)))
	}
	if limits.E2E > 0 {
		most = min(most, float64(limits.E2E)/float64(max(r.E2E, 1)))
	}
	return most
}

// Lateness returns the shares of requests that keep a clause for each factor on TTFT, given the
// largest factor under which each of them keeps it.
func Lateness(rooms []float64, confidence float64) []stats.Interval {
	var list []stats.Interval
	factors, size := LateFactors(), len(rooms)/BatchCount
	if size == 0 {
		for _, factor := range factors {
			list = append(list, ShareKept(rooms, factor, confidence))
		}
		return list
	}
	// upTo counts the requests of each batch that keep the clause up to just so many factors.
	upTo := make([][BatchCount]int, len(factors)+1)
	for i, most := range rooms[:size*BatchCount] {
		k, exact := slices.BinarySearch(factors, most)
		if exact {
			k++
		}
		upTo[k][i/size]++
	}
	means, kept := make([]float64, BatchCount), [BatchCount]int{}
	for k := len(factors); k > 0; k-- { // every share at a larger factor keeps it for this one too
		for batch := range kept {
			kept[batch] += upTo[k][batch]
			means[batch] = float64(kept[batch]) / float64(size)
		}
		list = append(list, stats.Mean(means, confidence))
	}
	slices.Reverse(list)
	return list
}

// ShareKept returns the share of requests that keep a clause for a factor on TTFT.
func ShareKept(rooms []float64, factor, confidence float64) stats.Interval {
	series := make([]float64, len(rooms))
	for i, most := range rooms {
		if most >= factor {
			series[i] = 1
		}
	}
	return shareOf(series, confidence)
}

// shareKeptAt returns the share for a factor on TTFT, interpolated between the factors of lateness.
func shareKeptAt(list []stats.Interval, factor float64) stats.Interval {
	place := float64(lateSteps) * (1 + math.Log(factor)/math.Log(lateMost))
	place = min(max(place, 0), 2*lateSteps)
	k := min(int(place), 2*lateSteps-1)
	a, b, part := list[k], list[k+1], place-float64(k)
	between := func(x, y float64) float64 { return x + float64(part*(y-x)) }
	return stats.Interval{Mean: between(a.Mean, b.Mean), Half: between(a.Half, b.Half)}
}

// MostKept returns the largest factor on TTFT under which a share is kept, interpolated between the
// factors of lateness: 0 where no factor keeps it, and +Inf above the largest factor that was
// looked at.
func MostKept(list []stats.Interval, target float64) float64 {
	factors := LateFactors()
	last := -1
	for k := range factors {
		if list[k].Mean >= target-1e-12 {
			last = k
		}
	}
	switch {
	case last < 0:
		return 0
	case last == len(factors)-1:
		return math.Inf(1)
	}
	a, b := list[last].Mean, list[last+1].Mean
	part := (a - target) / (a - b)
	return factors[last] * math.Pow(lateMost, min(max(part, 0), 1)/lateSteps)
}

// BatchCount is the number of batch means behind an interval (Schmeiser, "Batch size effects in the
// analysis of simulation output", Operations Research 30, 1982: ten to thirty).
const BatchCount = 20

// shareOf returns the mean of a series of ones and zeros with its interval; 1 for an empty series.
func shareOf(series []float64, confidence float64) stats.Interval {
	switch {
	case len(series) == 0:
		return stats.Interval{Mean: 1}
	case len(series) < BatchCount:
		kept := stats.Mean(series, confidence)
		kept.Half = min(kept.Half, 1) // of a single request nothing is known
		return kept
	}
	return stats.BatchMean(series, BatchCount, confidence)
}

// least returns the share of requests that must keep all limits of a request for an SLO to be kept:
// where each latency has percentiles of its own, at most the sum of what each lets miss may miss
// any.
func least(s metrics.SLO) float64 {
	if s.Share > 0 {
		return s.Share
	}
	missing := map[metrics.Latency]float64{}
	for _, l := range s.Percentiles {
		missing[l.Latency] = 1 - l.Percentile/100 // the highest comes last
	}
	return 1 - missing[metrics.TTFT] - missing[metrics.TPOT] - missing[metrics.E2E]
}
