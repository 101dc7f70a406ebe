package compare

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// figures sums up the runs of t, and their differences from base's runs with the same random
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

// Figure is a figure of a variant, and its difference from the first variant's.
type Figure struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	// Value is absent where a run has no such figure, as TPOT where answers come as a whole, or a
	// cost where an accelerator has no price.
	Value stats.Interval `json:"value,omitzero"`
	// Difference is the difference of runs with the same random numbers. BeyondNoise reports
	// whether it is not 0, at the confidence of the comparison, and Better whether it is an
	// improvement. It is absent where one of the two has no such figure. Offered is set if both
	// variants serve the whole load. Then the difference comes from the load, and is neither better
	// nor worse.
	Difference  stats.Interval `json:"difference,omitzero"`
	BeyondNoise bool           `json:"beyond_noise"`
	Better      bool           `json:"better"`
	Offered     bool           `json:"as_offered,omitempty"`
	// Range contains the real difference in 80 of 100 cases. It covers seeds and wrong predictions,
	// except for errors that both variants share. It is nil if it was not asked for. Unsure reports
	// whether the difference is more than noise, but Range contains 0.
	Range  *scenarios.Range `json:"range_80,omitempty"`
	Unsure bool             `json:"unsure,omitempty"`
	// noise is half of the range of the difference over seeds alone.
	noise float64
}

// difference returns a−b, or 0 if the difference is a rounding error.
func difference(a, b float64) float64 {
	if math.Abs(a-b) < stats.Rounding*math.Abs(b) {
		return 0
	}
	return a - b
}

// measure is a metric of a run, taken after its warm-up; NaN where the run has no such value.
type measure struct {
	scenarios.Metric
	of func(w *window) float64
}

// latency is a statistic of a latency of the requests: mean, median, p90, p95 or p99.
func latency(statistic, kind string) measure {
	return measure{scenarios.MetricNamed(statistic + "_" + kind + "_ms"), func(w *window) float64 {
		switch list := w.latencies[kind]; {
		case len(list) == 0:
			return math.NaN()
		case statistic == "mean":
			mean, _ := stats.MeanDeviation(list)
			return mean
		default:
			q := map[string]float64{"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
			return stat.Quantile(q[statistic], stat.LinInterp, list, nil)
		}
	}}
}

// measures lists the compared figures, including the worth of tokens if tokens are sold. Latencies
// are in milliseconds.
func measures(sold bool) []measure {
	named, gap := scenarios.MetricNamed, scenarios.MetricNamed("p99_itl_ms")
	list := []measure{
		latency("mean", "ttft"), latency("p99", "ttft"),
		latency("mean", "tpot"), latency("p99", "tpot"),
		{gap, func(w *window) float64 {
			if len(w.latencies["tpot"]) == 0 {
				return math.NaN()
			}
			return gap.Of(w.run.Result)
		}},
		latency("mean", "e2el"), latency("p99", "e2el"),
		{named("output_throughput"), func(w *window) float64 { return w.throughput }},
		{named("slo_attainment").InPercent(), func(w *window) float64 { return 100 * w.kept }},
		{named("cost_per_million_output_tokens"), func(w *window) float64 {
			if w.run.Result.Cost == 0 {
				return math.NaN() // an accelerator has no price
			}
			return w.run.Result.CostPerMillion
		}},
		{named("energy_per_million_output_tokens"), func(w *window) float64 {
			return w.run.Result.EnergyPerMillion
		}},
	}
	if !sold {
		return list
	}
	for _, name := range []string{"tokens_sold", "margin"} {
		m := named(name)
		list = append(list, measure{m, func(w *window) float64 { return m.Of(w.run.Result) }})
	}
	return list
}

// optionalMeasures lists the figures that are compared only where a limit asks for them.
func optionalMeasures() []measure {
	var list []measure
	for _, statistic := range []string{"median", "p90", "p95"} {
		list = append(list, latency(statistic, "ttft"), latency(statistic, "tpot"),
			latency(statistic, "e2el"))
	}
	goodput := scenarios.MetricNamed("goodput")
	list = append(list,
		measure{goodput, func(w *window) float64 { return goodput.Of(w.run.Result) }})
	slices.SortFunc(list, func(a, b measure) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// measures lists the figures that are compared here.
func (c *Comparison) measures() []measure {
	list := measures(c.sold)
	for _, m := range optionalMeasures() {
		if slices.Contains(c.gated, m.Name) {
			list = append(list, m)
		}
	}
	return list
}

// window is the part of a run after its warm-up: the requests from number first on, or the later
// half of a run that is shorter than twice the warm-up. Latencies are sorted.
type window struct {
	run       *planner.Observation
	latencies map[string][]float64 // in milliseconds
	// throughput and offered are in output tokens a second: what is served, and what the requests
	// of the window ask for. Kept is the share of requests that kept the SLO.
	throughput, offered, kept float64
}

func newWindow(o *planner.Observation, first int) *window {
	w := &window{run: o, latencies: map[string][]float64{}}
	add := func(kind string, t sim.Time) {
		w.latencies[kind] = append(w.latencies[kind], t.Milliseconds())
	}
	requests := o.Requests[min(first, len(o.Requests)/2):]
	var from, to sim.Time
	kept, asked := 0, 0
	for i := range requests {
		r := &requests[i]
		asked += r.Output
		if r.Kept {
			kept++
		}
		if i == 0 {
			from = r.Arrival
		}
		to = max(to, r.Arrival)
		if r.Rejected {
			continue
		}
		add("ttft", r.TTFT)
		if !r.Cut {
			add("e2el", r.E2E)
		}
		if r.Output > 1 && r.TPOT > 0 { // static batches give all tokens at once
			add("tpot", r.TPOT)
		}
	}
	for _, list := range w.latencies {
		slices.Sort(list)
	}
	w.kept = float64(kept) / float64(max(1, len(requests)))
	w.throughput = throughput(o, from, to)
	if to > from {
		w.offered = float64(asked) / (to - from).Seconds()
	}
	return w
}

// keepingUp is the least share of the offered load that a system below saturation serves in the
// window, since requests in flight at its end have no answer yet.
const keepingUp = 0.95

// keepsUp reports whether nearly the whole load was served while requests arrived. It is false if
// the load has no rate.
func (w *window) keepsUp() bool {
	process := w.run.Simulation.Scenario.Workload.Arrivals.Process
	return process != "closed-loop" && w.offered > 0 && w.throughput >= keepingUp*w.offered
}

// throughput counts the answers that end while requests arrive. Where none does, as where all
// requests arrive at once or nearly so, the whole run counts.
func throughput(o *planner.Observation, from, to sim.Time) float64 {
	tokens := 0
	for i := range o.Requests {
		if r := &o.Requests[i]; !r.Rejected && r.Done >= from && r.Done < to {
			tokens += r.Output
		}
	}
	if tokens == 0 {
		return o.Result.OutputThroughput
	}
	return float64(tokens) / (to - from).Seconds()
}
