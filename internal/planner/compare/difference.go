package compare

import (
	"context"
	"fmt"
	"maps"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
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
	if !hasWidth(d) {
		return words
	}
	return fmt.Sprintf("%s [%s, %s]", words, signed(d.Mean-d.Half), signed(d.Mean+d.Half))
}

// hasWidth reports whether an interval is known, and is more than its mean.
func hasWidth(d stats.Interval) bool { return d.Half != 0 && !math.IsInf(d.Half, 1) }

// relative prints a difference as a share of a value, or as a ratio where it is large, with its
// interval in brackets.
func relative(d stats.Interval, base float64) string {
	words, low, high := share(d.Mean, base), d.Mean-d.Half, d.Mean+d.Half
	if !hasWidth(d) {
		return words
	}
	if base == 0 {
		return fmt.Sprintf("%s [%s, %s]", words, units.Signed(low, 3), units.Signed(high, 3))
	}
	base = math.Abs(base)
	low = max(low, -base) // the interval is cut where figures end, which are not below 0
	switch r := 1 + d.Mean/base; {
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
	words := planner.Words(scenarios.Unit(unit), x)
	switch {
	case math.IsNaN(x) || unit == "ms" || unit == "%":
		return words
	case unit == "$" && x < 0:
		return "-$" + words[1:]
	case unit == "$":
		return "$" + words
	case unit == "1/s":
		return words + "/s"
	}
	return words + " " + unit
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
	stats.SlowDown(&f.Scenario, factor, t.runs[0].Result.Evidence.Spread)
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
