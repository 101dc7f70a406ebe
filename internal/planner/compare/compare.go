// Package compare says how the results of scenarios differ, which of their settings causes the
// difference, and whether the difference is more than noise. All variants run with the same random
// numbers (common random numbers, Law, "Simulation Modeling and Analysis", 5th edition, 11.2), so
// that differences vary less than the figures themselves.
package compare

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/llmsim/llmsim/internal/planner/interval"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

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

// Comparison is the result of several variants, of which the others are compared with the first.
type Comparison struct {
	// Replications is the number of runs of each variant. It is 1 if the results do not depend on
	// the seed, as with a recorded trace; then there is no noise.
	Replications int     `json:"replications"`
	Confidence   float64 `json:"confidence"`
	// WarmUp is the number of requests at the start of each run that were left out. If a scenario
	// forbids a warm-up, Whole says why.
	WarmUp int    `json:"warm_up_requests"`
	Whole  string `json:"nothing_left_out_because,omitempty"`
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

// Figure is a figure of a variant, and its difference from that of the first.
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
}

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
		for _, run := range t.runs {
			c.sold = c.sold && run.Result.Sold != nil && run.Result.Sold.Margin != nil
		}
		scenario := &t.runs[0].Simulation.Scenario
		w := &scenario.Workload
		c.Recorded = c.Recorded || w.Recorded() && !w.Resampled()
		if reason := scenario.Unsteady(); reason != "" && c.Whole == "" {
			c.Whole = t.variant.Label + " " + reason
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
		c.Variants[i].Settled = settled || c.Whole != ""
		if c.Whole == "" {
			c.WarmUp = max(c.WarmUp, drop)
		}
		c.runs = append(c.runs, t.page)
	}
	for i, t := range trials {
		c.Variants[i].Figures = c.figures(trials[0], t)
	}
	if !o.NoInterval {
		if err := c.doubt(ctx, trials, o.Workers); err != nil {
			return nil, err
		}
	}
	return c, c.attribute(ctx, trials, seed, o)
}

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
		list[m] = Figure{
			Name: all[m].Name, Title: cmp.Or(all[m].Short, all[m].Name), Unit: string(all[m].Unit),
			Value: stats.Mean(values[m], confidence), Difference: d, BeyondNoise: d.Excludes(0),
			Offered: offered,
			noise:   stats.Mean(differences[m], interval.Level).Half,
			Better: d.Excludes(0) && !offered &&
				(d.Mean > 0) == (all[m].Better == scenarios.Higher),
		}
	}
	return list
}

// difference returns a−b, or 0 if the difference is a rounding error.
func difference(a, b float64) float64 {
	if math.Abs(a-b) < 1e-9*math.Abs(b) {
		return 0
	}
	return a - b
}
