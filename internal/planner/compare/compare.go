// Package compare says how the results of scenarios differ, which of their settings causes the
// difference, and whether the difference is more than noise. All variants run with the same random
// numbers (common random numbers, Law, "Simulation Modeling and Analysis", 5th edition, 11.2), so
// that differences vary less than the figures themselves.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
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
