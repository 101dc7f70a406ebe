package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// absent reports whether one of two variants has no such figure, so that there is no difference.
func (f *Figure) absent() bool { return f.Difference.IsZero() }

// difference prints how a figure differs from its value in the first variant.
func (f *Figure) difference(base float64) string {
	if f.absent() {
		return "–"
	}
	if f.Unit == string(scenarios.Percent) {
		return points(f.Difference)
	}
	return relative(f.Difference, f.shareBase(base))
}

// shareBase returns the value that a difference is printed as a share of. It is 0 for a figure that
// may be negative, whose differences are printed in its unit.
func (f *Figure) shareBase(base float64) float64 {
	if scenarios.MetricNamed(f.Name).Signed {
		return 0
	}
	return base
}

// points prints a difference of two percentages, with its interval in brackets.
func points(d stats.Interval) string {
	words := signed(d.Mean) + " points"
	if d.Half == 0 || math.IsInf(d.Half, 1) {
		return words
	}
	return fmt.Sprintf("%s [%s, %s]", words, signed(d.Mean-d.Half), signed(d.Mean+d.Half))
}

// relative prints a difference as a share of a value, or as a ratio where it is large, with its
// interval in brackets.
func relative(d stats.Interval, base float64) string {
	known := d.Half != 0 && !math.IsInf(d.Half, 1)
	low, high := d.Mean-d.Half, d.Mean+d.Half
	if base == 0 {
		if known {
			return fmt.Sprintf("%s [%s, %s]", units.Signed(d.Mean, 3), units.Signed(low, 3),
				units.Signed(high, 3))
		}
		return units.Signed(d.Mean, 3)
	}
	base = math.Abs(base)
	low = max(low, -base) // the interval is cut where figures end, which are not below 0
	words := share(d.Mean, base)
	switch r := 1 + d.Mean/base; {
	case !known:
		return words
	case r >= 2:
		return fmt.Sprintf("%s [%s, %s]", words, times(1+low/base), times(1+high/base))
	case r <= 0.5:
		return fmt.Sprintf("%s [%s, %s]", words, fewer(1+high/base), fewer(1+low/base))
	}
	return fmt.Sprintf("%s [%s, %s]", words, signed(100*low/base), signed(100*high/base))
}

// share prints a difference as a percentage of a value, or as a number of times where it is twice
// or half and beyond: 41 times, 12 times less.
func share(x, base float64) string {
	if base == 0 {
		return units.Signed(x, 3)
	}
	change := x / math.Abs(base)
	switch r := 1 + change; {
	case r >= 2:
		return times(r) + " times"
	case r > 0 && r <= 0.5:
		return fewer(r) + " times less"
	}
	return signed(100*change) + "%"
}

// signed prints a percentage with two digits, and never with an exponent.
func signed(percent float64) string {
	if math.Abs(percent) >= 10 {
		return fmt.Sprintf("%+.0f", percent)
	}
	return units.Signed(percent, 2)
}

// times prints a ratio with two digits, and never with an exponent.
func times(ratio float64) string {
	if ratio >= 10 {
		return units.Figure(math.Round(ratio))
	}
	return units.Significant(ratio, 2)
}

// fewer prints a share below 1 as a number of times less.
func fewer(share float64) string {
	if share <= 0 {
		return "∞"
	}
	return times(1 / share)
}

// span prints the range of the difference as shares of a value, or as ratios where they are large;
// nothing where it is not known.
func (f *Figure) span(base float64) string {
	if f.Range == nil || f.absent() {
		return ""
	}
	low, high, base := f.Range.Low, f.Range.High, f.shareBase(base)
	if base != 0 { // the range is cut where figures end, which are not below 0
		low, high = max(low, -math.Abs(base)), max(high, -math.Abs(base))
	}
	return fmt.Sprintf("%s to %s", share(low, base), share(high, base))
}

func (f *Figure) verdict() string {
	switch {
	case f.absent():
		return "–"
	case f.Difference.Mean == 0 && f.Difference.Half == 0:
		return "the same"
	case f.Offered:
		return "as offered"
	case math.IsInf(f.Difference.Half, 1):
		return "one run"
	case !f.BeyondNoise:
		return "noise"
	case f.Unsure:
		return "unsure"
	case f.Better:
		return "better"
	}
	return "worse"
}

// slo says in how many of the runs the SLO is met.
func (v *Outcome) slo() string {
	switch v.SLOMet {
	case 0:
		return "missed"
	case 1:
		return "met"
	}
	return "met in " + units.Percent(v.SLOMet)
}

// amount prints a value with its unit, or a dash without a value.
func amount(x float64, unit string) string {
	if math.IsNaN(x) {
		return "–"
	}
	switch unit {
	case "ms":
		return units.FormatDuration(x / 1000)
	case "$":
		if x < 0 {
			return "-$" + units.Figure(-x)
		}
		return "$" + units.Figure(x)
	case "%":
		return units.Percent(x / 100)
	case "1/s":
		return units.Figure(x) + "/s"
	}
	return units.Figure(x) + " " + unit
}

// attribute runs the first variant with each change of a variant alone, if there are several, to
// show which of them matters.
func (c *Comparison) attribute(ctx context.Context, trials []*trial, seed uint64, o Options) error {
	for i, t := range trials {
		groups := groupDependent(c.Variants[i].Changes)
		if len(groups) < 2 {
			continue
		}
		for _, group := range groups {
			effect, err := effectOf(ctx, trials[0], t, group, seed, o.Workers)
			if err != nil {
				return err
			}
			c.Variants[i].Effects = append(c.Variants[i].Effects, effect)
		}
	}
	return nil
}

func effectOf(ctx context.Context, base, other *trial, group []Change, seed uint64,
	workers int) (Effect, error) {
	e := Effect{Change: group[0], With: group[1:]}
	from, to := settingsOf(base, other)
	v, err := alone(base.variant.Name, from, to, group)
	if err != nil {
		return e, err
	}
	t := &trial{variant: v}
	if err := replicateFrom(ctx, []*trial{t}, seed, 0, len(base.runs),
		workers); scenarios.IsInputError(err) {
		e.Impossible = err.Error()
		return e, nil
	} else if err != nil {
		return e, err
	}
	e.trial = t
	return e, nil
}

// addPaces makes two more runs of each variant with the first seed, in which steps are faster and
// slower than predicted.
func addPaces(ctx context.Context, trials []*trial, workers int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, t := range trials {
		fast, slow := stats.Factors(t.runs[0].Result.Evidence.Spread)
		group.Go(func() (err error) { t.fast, err = t.slowed(ctx, fast); return err })
		group.Go(func() (err error) { t.slow, err = t.slowed(ctx, slow); return err })
	}
	return group.Wait()
}

// slowed repeats the first run with a factor on the times of steps.
func (t *trial) slowed(ctx context.Context, factor float64) (*planner.Observation, error) {
	f, err := t.variant.Load()
	if err != nil {
		return nil, err
	}
	f.Scenario.Seed = t.runs[0].Simulation.Scenario.Seed
	stats.SlowDown(&f.Scenario, factor)
	return planner.Observe(ctx, f)
}

// rangeDifferences adds the ranges of the differences of one variant from the first.
func (c *Comparison) rangeDifferences(first, other *trial, figures []Figure) {
	shared := maps.Equal(constants(first), constants(other))
	a, b := c.responses(first), c.responses(other)
	for i, m := range c.measures() {
		f := &figures[i]
		if f.absent() {
			continue
		}
		noise := f.noise
		if math.IsInf(noise, 1) {
			noise = 0 // one run is all there is
		}
		span := stats.Difference(m.Metric, a[i], b[i], shared, f.Difference.Mean, noise)
		f.Range = &span
		f.Unsure = f.BeyondNoise && span.Low <= 0 && span.High >= 0
		f.Better = f.Better && !f.Unsure
	}
}

// responses returns how each measure of a variant moves with step times.
func (c *Comparison) responses(t *trial) []stats.Response {
	plain, fast, slow := newWindow(t.runs[0], c.WarmUp), newWindow(t.fast, c.WarmUp),
		newWindow(t.slow, c.WarmUp)
	var list []stats.Response
	for _, m := range c.measures() {
		list = append(list, stats.Response{
			Plain: m.of(plain), Fast: m.of(fast), Slow: m.of(slow),
			Spread: t.runs[0].Result.Evidence.Spread,
		})
	}
	return list
}

// server is an engine on an accelerator. Equal servers have the same constants behind their step
// times.
type server struct{ engine, accelerator string }

// constants returns the kinds of servers on which a variant runs.
func constants(t *trial) map[server]bool {
	all := map[server]bool{}
	for _, key := range t.runs[0].Simulation.Keys() {
		all[server{key.Engine, key.Accelerator}] = true
	}
	return all
}

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

// Comparison is the result of several variants, all compared with the first.
type Comparison struct {
	// Replications is the number of runs of each variant. It is 1 if the results do not depend on
	// the seed, as with a recorded trace; then there is no noise.
	Replications int     `json:"replications"`
	Confidence   float64 `json:"confidence"`
	// WarmUp is the number of requests at the start of each run that were left out. If a scenario
	// forbids a warm-up, Whole says why.
	WarmUp   int    `json:"warm_up_requests"`
	NoWarmUp string `json:"nothing_left_out_because,omitempty"`
	// Recorded is set if a scenario replays a recorded trace unchanged, which is only one sample of
	// the load.
	Recorded bool      `json:"recorded_trace,omitempty"`
	Variants []Outcome `json:"variants"`
	// runs are the first runs of the variants.
	runs []page.Run
	// sold reports whether the result of every run has the worth of its tokens and the margin.
	sold bool
	// gated names the metrics of limits.
	gated []string
}

// Outcome is the result of one variant.
type Outcome struct {
	Label string `json:"label"`
	Setup string `json:"setup"`
	Load  string `json:"load"`
	// Settled is false if latencies change over the whole run, so that no part of it shows a steady
	// state.
	Settled bool `json:"settled"`
	// Evidence says what the figures rest on. SLOMet is the share of the runs that meet the SLO,
	// and Binds names the limit that binds in the first run.
	Evidence evidence.Evidence `json:"evidence"`
	SLOMet   float64           `json:"slo_met"`
	Binds    string            `json:"slo_binds,omitempty"`

	Changes []Change `json:"changes,omitempty"`
	Figures []Figure `json:"figures"`
	// Effects has the effect of each change alone on the first variant, if there are several
	// changes.
	Effects []Effect `json:"effects,omitempty"`
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

// Effect is the effect of one change alone. With lists the changes that only have a meaning
// together with it.
type Effect struct {
	Change  Change   `json:"change"`
	With    []Change `json:"with,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
	// Impossible says why the change cannot be made alone.
	Impossible string `json:"impossible,omitempty"`
	// trial is the runs with the change; nil if it is impossible.
	trial *trial
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

// measures lists the compared figures, including the worth of tokens if tokens are sold. Latencies
// are in milliseconds.
func measures(sold bool) []measure {
	named, gap := scenarios.MetricNamed, scenarios.MetricNamed("p99_itl_ms")
	list := []measure{
		{named("mean_ttft_ms"), func(w *window) float64 { return mean(w.ttft) }},
		{named("p99_ttft_ms"), func(w *window) float64 { return quantile(0.99, w.ttft) }},
		{named("mean_tpot_ms"), func(w *window) float64 { return mean(w.tpot) }},
		{named("p99_tpot_ms"), func(w *window) float64 { return quantile(0.99, w.tpot) }},
		{gap, func(w *window) float64 {
			if len(w.tpot) == 0 {
				return math.NaN()
			}
			return gap.Of(w.run.Result)
		}},
		{named("mean_e2el_ms"), func(w *window) float64 { return mean(w.e2e) }},
		{named("p99_e2el_ms"), func(w *window) float64 { return quantile(0.99, w.e2e) }},
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
	for name, q := range map[string]float64{"median": 0.5, "p90": 0.9, "p95": 0.95} {
		list = append(list,
			measure{scenarios.MetricNamed(name + "_ttft_ms"),
				func(w *window) float64 { return quantile(q, w.ttft) }},
			measure{scenarios.MetricNamed(name + "_tpot_ms"),
				func(w *window) float64 { return quantile(q, w.tpot) }},
			measure{scenarios.MetricNamed(name + "_e2el_ms"),
				func(w *window) float64 { return quantile(q, w.e2e) }})
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
	run             *planner.Observation
	ttft, tpot, e2e []float64
	// throughput and offered are in output tokens a second: what is served, and what the requests
	// of the window ask for. Kept is the share of requests that kept the SLO.
	throughput, offered, kept float64
}

func newWindow(o *planner.Observation, first int) *window {
	w := &window{run: o}
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
		w.ttft = append(w.ttft, r.TTFT.Milliseconds())
		if !r.Cut {
			w.e2e = append(w.e2e, r.E2E.Milliseconds())
		}
		if r.Output > 1 && r.TPOT > 0 { // static batches give all tokens at once
			w.tpot = append(w.tpot, r.TPOT.Milliseconds())
		}
	}
	for _, list := range [][]float64{w.ttft, w.tpot, w.e2e} {
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

// throughput counts the answers that end while requests arrive. Where all arrive at once, the whole
// run counts.
func throughput(o *planner.Observation, from, to sim.Time) float64 {
	if to <= from {
		return o.Result.OutputThroughput
	}
	tokens := 0
	for i := range o.Requests {
		if r := &o.Requests[i]; !r.Rejected && r.Done >= from && r.Done < to {
			tokens += r.Output
		}
	}
	return float64(tokens) / (to - from).Seconds()
}

// mean is NaN where there is nothing, as of TPOT where answers have one token.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	mean, _ := stats.MeanDeviation(values)
	return mean
}

// quantile returns a quantile of sorted values, NaN where there are no values.
func quantile(q float64, sorted []float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return stat.Quantile(q, stat.LinInterp, sorted, nil)
}
