// Package compare says how the results of scenarios differ, which of their settings causes the
// difference, and whether the difference is more than noise. All variants run with the same random
// numbers (common random numbers, Law, "Simulation Modeling and Analysis", 5th edition, 11.2), so
// that differences vary less than the figures themselves.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Run compares at least two variants.
func Run(ctx context.Context, variants []Variant, o Options) (*Comparison, error) {
	if len(variants) < 2 {
		return nil, scenarios.BadInput(
			errors.New("there is nothing to compare: give at least two scenarios, or one with " +
				"--vary"))
	}
	trials := make([]*trial, len(variants))
	var seed uint64 // of the first variant, from which all seeds count
	for i, v := range variants {
		f, err := v.Load()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			seed = f.Scenario.Seed
		}
		trials[i] = &trial{variant: v}
		if trials[i].tree, err = treeOf(f); err != nil {
			return nil, err
		}
	}
	if err := replicate(ctx, trials, seed, o); err != nil {
		return nil, err
	}
	c := &Comparison{Replications: len(trials[0].runs), Confidence: o.Confidence,
		Variants: make([]Outcome, len(trials)), sold: true}
	for _, g := range o.Gates {
		c.gated = append(c.gated, g.Metric)
	}
	for _, t := range trials {
		first := &trials[0].runs[0].Simulation.Scenario
		for _, run := range t.runs {
			here, there := run.Simulation.Scenario.Currency(), first.Currency()
			if here != there && run.Result.Cost > 0 && trials[0].runs[0].Result.Cost > 0 {
				return nil, scenarios.BadInput(fmt.Errorf("%s has prices in %s, and %s in %s; a "+
					"comparison has one currency, so convert one of them", trials[0].variant.Label,
					there.Code(), t.variant.Label, here.Code()))
			}
			c.sold = c.sold && run.Result.Sold != nil && run.Result.Sold.Margin != nil
		}
		scenario := &t.runs[0].Simulation.Scenario
		w := &scenario.Workload
		c.Recorded = c.Recorded || w.Recorded() && !w.Resampled()
		if reason := scenario.Unsteady(); reason != "" && c.NoWarmUp == "" {
			c.NoWarmUp = t.variant.Label + " " + reason
		}
	}
	for i, t := range trials {
		first := t.runs[0].Result
		c.Variants[i] = Outcome{
			Label: t.variant.Label, Setup: first.Setup, Load: first.Load,
			Changes:  changesOf(trials[0], t),
			Evidence: first.Evidence, SLOMet: t.met(), Binds: first.Binds,
		}
		drop, settled := t.warmUp()
		c.Variants[i].Settled = settled || c.NoWarmUp != ""
		if c.NoWarmUp == "" {
			c.WarmUp = max(c.WarmUp, drop)
		}
		c.runs = append(c.runs, t.page)
	}
	if err := c.attribute(ctx, trials, seed, o); err != nil {
		return nil, err
	}
	if !o.NoInterval {
		if err := addPaces(ctx, trials, o.Workers); err != nil {
			return nil, err
		}
	}
	scenarios.PriceAlike(c.results(trials)...)
	c.fill(trials, !o.NoInterval)
	return c, nil
}

// results returns the results of all runs.
func (c *Comparison) results(trials []*trial) (list []*scenarios.Result) {
	trials = slices.Clip(trials)
	for i := range c.Variants {
		for j := range c.Variants[i].Effects {
			if t := c.Variants[i].Effects[j].trial; t != nil {
				trials = append(trials, t)
			}
		}
	}
	for _, t := range trials {
		for _, run := range append(slices.Clip(t.runs), t.fast, t.slow) {
			if run != nil {
				list = append(list, run.Result)
			}
		}
	}
	return list
}

// fill computes the figures of all variants and effects, and the ranges of differences if asked.
func (c *Comparison) fill(trials []*trial, ranges bool) {
	for i, t := range trials {
		v := &c.Variants[i]
		v.Figures = c.figures(trials[0], t)
		if ranges && i > 0 {
			c.rangeDifferences(trials[0], t, v.Figures)
		}
		for j := range v.Effects {
			if e := &v.Effects[j]; e.trial != nil {
				e.Figures = c.figures(trials[0], e.trial)
			}
		}
	}
}

// Check is the result of a gate for a variant.
type Check struct {
	Gate    Gate
	Variant string
	// Failed reports whether the variant breaks the limit, and Words says by which figure.
	Failed bool
	Words  string
}

// Check applies gates to all variants except the first. A difference within noise does not fail a
// relative gate. A figure that a variant does not have fails every gate, such as a latency
// if all requests are refused, or a cost if an accelerator has no price.
func (c *Comparison) Check(gates []Gate) []Check {
	var list []Check
	for i := 1; i < len(c.Variants); i++ {
		for _, g := range gates {
			list = append(list, c.check(g, &c.Variants[i]))
		}
	}
	return list
}

// check applies a gate to a variant.
func (c *Comparison) check(g Gate, v *Outcome) Check {
	j := slices.IndexFunc(v.Figures, func(f Figure) bool { return f.Name == g.Metric })
	if j < 0 {
		return Check{Gate: g, Variant: v.Label, Failed: true, Words: g.Metric + ": not all of " +
			"the scenarios have prices of tokens and of accelerators"}
	}
	return g.check(v.Label, &v.Figures[j], c.Variants[0].Figures[j].Value.Mean)
}

func (g Gate) check(variant string, f *Figure, first float64) Check {
	c := Check{Gate: g, Variant: variant, Words: fmt.Sprintf("%s is %s, %s against %s", f.Name,
		amount(f.Value.Mean, f.Unit), f.difference(first), amount(first, f.Unit))}
	none := f.Value.IsZero()
	if none || g.Relative && f.absent() {
		c.Failed = true
		c.Words = fmt.Sprintf("%s: %s, so the limit is broken", f.Name, f.missing(variant))
		if !none {
			c.Words = fmt.Sprintf("%s is %s, and %s to compare with", f.Name,
				amount(f.Value.Mean, f.Unit), f.missing("the first"))
		}
		return c
	}
	value := f.Value.Mean
	if g.Relative {
		value = f.Difference.Mean
		switch {
		case f.Unit == string(scenarios.Percent):
		case first != 0:
			value /= math.Abs(first)
		case value != 0: // any share of nothing, and more
			value = math.Inf(int(math.Copysign(1, value)))
		}
	}
	c.Failed = value > g.Limit == g.Above && value != g.Limit || math.IsNaN(value)
	if g.Relative && c.Failed && !f.BeyondNoise && !math.IsInf(f.Difference.Half, 1) {
		c.Failed, c.Words = false, c.Words+", within noise"
	}
	if f.Unsure {
		c.Words += ", which is less than the predictions may be wrong by"
	}
	return c
}

// missing says why a variant does not have the figure.
func (f *Figure) missing(variant string) string {
	if f.Unit == string(scenarios.Milliseconds) {
		return "no request of " + variant + " has one"
	}
	return variant + " has none"
}

// Failed returns the number of failed checks.
func Failed(checks []Check) int {
	n := 0
	for i := range checks {
		if checks[i].Failed {
			n++
		}
	}
	return n
}

// Gate is a limit that a change of configuration must keep, such as "p99_ttft_ms > +5%": it fails a
// variant whose figure is that far from the first variant's.
type Gate struct {
	// Text is the gate as it was written.
	Text string
	// Metric is the name of a figure. Above reports whether values above Limit fail; otherwise
	// values below it fail.
	Metric string
	Above  bool
	// If Relative is set, Limit applies to the difference from the first variant, as a share of its
	// value; for figures in percent, it applies to the difference in percentage points. Otherwise
	// Limit applies to the value, in the figure's unit.
	Limit    float64
	Relative bool
}

// ParseGate reads a gate: a metric, < or >, and a limit. A limit with a percent sign applies to the
// difference from the first variant. For metrics in percent, it does so only if it also has a plus
// or minus sign.
func ParseGate(text string) (Gate, error) {
	form := regexp.MustCompile(`^\s*([a-z0-9_]+)\s*([<>])\s*([+-]?[0-9.]+)\s*(%?)\s*$`)
	parts := form.FindStringSubmatch(text)
	if parts == nil {
		return Gate{}, fmt.Errorf(
			"found %q; want a metric, < or >, and a limit, such as 'p99_ttft_ms > +5%%' or "+
				"'mean_tpot_ms > 40'", text)
	}
	g := Gate{Text: strings.TrimSpace(text), Metric: parts[1], Above: parts[2] == ">",
		Relative: parts[4] == "%"}
	var err error
	if g.Limit, err = strconv.ParseFloat(parts[3], 64); err != nil {
		return Gate{}, fmt.Errorf("found %q; %q is not a number", text, parts[3])
	}
	var names []string
	all := append(measures(true), optionalMeasures()...)
	for _, m := range all {
		names = append(names, m.Name)
	}
	i := slices.Index(names, g.Metric)
	switch {
	case i < 0:
		return Gate{}, errors.New(nearest.Unknown("metric", g.Metric, names))
	case all[i].Unit == scenarios.Percent:
		g.Relative = g.Relative && strings.ContainsAny(parts[3], "+-")
	case g.Relative:
		g.Limit /= 100
	}
	return g, nil
}

// Options say how carefully to compare.
type Options struct {
	// Replications is the number of runs of each variant, each with another seed; at least 2.
	Replications int
	// Confidence is the confidence of all intervals of a table together, in (0, 1).
	Confidence float64
	// Workers is the number of runs at the same time, at least 1. The outcome does not depend on
	// it.
	Workers int
	// NoInterval leaves out the runs that show how wrong the differences may be.
	NoInterval bool
	// Gates are limits that are going to be checked: their metrics are compared too.
	Gates []Gate
}

// trial is the runs of one variant.
type trial struct {
	variant Variant
	tree    tree
	runs    []*planner.Observation
	page    page.Run
	// fast and slow are the first run with steps as fast and as slow as they are in one case of ten
	// each; nil if they were not asked for.
	fast, slow *planner.Observation
}

// replicate runs all variants, each with the same seeds. If two seeds give the same requests and
// results in every variant, it keeps one run of each, because more equal runs are no evidence.
func replicate(ctx context.Context, trials []*trial, seed uint64, o Options) error {
	const probe = 2
	if err := replicateFrom(ctx, trials, seed, 0, min(probe, o.Replications),
		o.Workers); err != nil {
		return err
	}
	drawn := func(t *trial) bool {
		return len(t.runs) > 1 && !slices.Equal(t.runs[0].Requests, t.runs[1].Requests)
	}
	if !slices.ContainsFunc(trials, drawn) {
		for _, t := range trials {
			t.runs = t.runs[:1]
		}
		return nil
	}
	return replicateFrom(ctx, trials, seed, probe, o.Replications, o.Workers)
}

// replicateFrom runs the replications first to last-1 of all variants.
func replicateFrom(ctx context.Context, trials []*trial, seed uint64, first, last,
	workers int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, t := range trials {
		t.runs = append(t.runs, make([]*planner.Observation, last-first)...)
		for r := first; r < last; r++ {
			group.Go(func() error {
				if err := t.replication(ctx, r, seed); err != nil {
					return fmt.Errorf("%s: %w", t.variant.Label, err)
				}
				return nil
			})
		}
	}
	return group.Wait()
}

func (t *trial) replication(ctx context.Context, r int, seed uint64) error {
	f, err := t.variant.Load()
	if err != nil {
		return err
	}
	f.Scenario.Seed = seed + uint64(r)
	var others []sim.Observer
	sample := page.NewSample(page.SampleSize)
	if r == 0 {
		others = append(others, sample)
	}
	if t.runs[r], err = planner.Observe(ctx, f, others...); err != nil {
		return err
	}
	if r == 0 {
		t.page = page.Run{Name: t.variant.Label, Result: t.runs[0].Result, Sample: sample,
			Steps: t.runs[0].Simulation.Steps()}
	}
	return nil
}

// met returns the share of the runs that meet the SLO.
func (t *trial) met() float64 {
	n := 0.0
	for _, run := range t.runs {
		if run.Result.SLOMet {
			n++
		}
	}
	return n / float64(len(t.runs))
}

// warmUp finds how many requests at the start are not typical, in the mean over the replications
// (Welch's averaging).
func (t *trial) warmUp() (drop int, settled bool) {
	n := math.MaxInt
	for _, run := range t.runs {
		n = min(n, run.Steady())
	}
	ttft, tpot := make([]float64, n), make([]float64, n)
	for _, run := range t.runs {
		for i := range n {
			ttft[i] += run.Requests[i].TTFT.Milliseconds()
			tpot[i] += run.Requests[i].TPOT.Milliseconds()
		}
	}
	first, settledTTFT := stats.WarmUp(ttft)
	pace, settledTPOT := stats.WarmUp(tpot)
	return max(first, pace), settledTTFT && settledTPOT
}

// Variant is one of the scenarios to compare.
type Variant struct {
	// Label names it in tables, Name is the file or the shipped scenario that it is made from.
	Label, Name string
	// Load reads it anew: a scenarios.File is built once only.
	Load func() (*scenarios.File, error)
}

// loaded returns a variant of a file with some overrides.
func loaded(label, name string, settings []string) Variant {
	return Variant{label, name, func() (*scenarios.File, error) {
		return scenarios.Load(name, settings...)
	}}
}

// Files returns a variant for each scenario file or shipped scenario, with overrides that apply to
// all. Files that have the same name are distinguished by their folders.
func Files(names []string, overrides []string) []Variant {
	seen := map[string]int{}
	for _, name := range names {
		seen[filepath.Base(name)]++
	}
	list := make([]Variant, len(names))
	for i, name := range names {
		label := filepath.Base(name)
		if seen[label] > 1 {
			label = filepath.ToSlash(name)
		}
		list[i] = loaded(strings.TrimSuffix(label, ".yaml"), name, overrides)
	}
	return list
}

// Points returns a variant of one scenario for each point of a grid.
func Points(name string, overrides []string, points []planner.Point) []Variant {
	list := make([]Variant, len(points))
	for i, p := range points {
		list[i] = loaded(p.String(), name, append(slices.Clip(overrides), p.Overrides()...))
	}
	return list
}

// Kept is the figures of one run that was kept as a record.
type Kept struct {
	// Figures are the numbers of the result by their paths, and Ranges the ranges of metrics by
	// their names; empty if the run had no figures or ranges.
	Figures map[string]float64
	Ranges  map[string]scenarios.Range
	// KeepsUp reports whether the run served the load that was offered.
	KeepsUp bool
}

// Line is a figure of two kept runs as people read it: both values, their difference, and the
// verdict in the words of a comparison.
type Line struct {
	Title      string `json:"title"`
	One        string `json:"one"`
	Other      string `json:"other"`
	Difference string `json:"difference"`
	Verdict    string `json:"verdict"`
}

// Between returns the figures of a comparison for two kept runs: the figures that both have. A run
// is one sample: the verdict is "one run" where a run has no ranges, and "unsure" where the ranges
// overlap.
func Between(a, b Kept, currency string) (lines []Line) {
	for _, m := range measures(false) {
		path := cmp.Or(m.Path, m.Name)
		x, here := a.Figures[path]
		y, there := b.Figures[path]
		if !here || !there {
			continue
		}
		f := Figure{Name: m.Name, Unit: string(m.Unit), Difference: stats.Interval{
			Mean: difference(y, x), Half: math.Inf(1)},
			Offered: m.Name == "output_throughput" && a.KeepsUp && b.KeepsUp}
		if m.Unit == scenarios.Percent {
			x, y, f.Difference.Mean = 100*x, 100*y, 100*f.Difference.Mean
		}
		if m.Unit == scenarios.Dollars {
			f.Unit = currency
		}
		words := f.difference(x)
		if f.Difference.Mean == 0 {
			f.Difference.Half = 0
		}
		r, knownA := a.Ranges[m.Name]
		s, knownB := b.Ranges[m.Name]
		if knownA && knownB {
			f.Difference.Half, f.BeyondNoise = 0, true
			f.Unsure = r.Low <= s.High && s.Low <= r.High
			f.Better = (y > x) == (m.Better == scenarios.Higher)
		}
		lines = append(lines, Line{cmp.Or(m.Short, m.Name), amount(x, f.Unit), amount(y, f.Unit),
			words, f.verdict()})
	}
	return lines
}
