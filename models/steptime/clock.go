// Package steptime predicts how long a step takes: the physics between a model's FLOPs and bytes
// and a server's milliseconds.
//
// A step is the sum of its operators (matrix products, attention, collectives, sampling), each the
// larger of compute and memory time at the efficiencies fitted to measurements of the accelerator,
// plus a fixed time a kernel; an engine preset adds what the host costs. docs/physics.md gives each
// formula with its source.
//
// A Clock implements sim.LeapClock. Costs that depend on a count (tokens, sampled rows, sequences)
// are computed once for each count and kept as integer ticks, so that predicting a step takes
// nanoseconds and allocates nothing.
package steptime

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// Clock predicts step times. Only one goroutine may use it at a time, since asking for a time
// changes what it remembers; its setup and rates never change, and forks share them.
type Clock struct {
	*setup
	stage    *stage // the slowest pipeline stage
	host     hostCosts
	images   imageCost
	work     workForm
	warnings []string
	// forks are the clocks whose steps Outside reports too.
	forks []*Clock

	forms    []*form        // by the number of sequences; nil where it was not asked for
	verified *verifications // made by verification
	// unsplit is the clock of all layers in one stage, for Whole; nil before it is asked for.
	unsplit *Clock
}

var _ sim.LeapClock = (*Clock)(nil)

// New returns the clock of one replica, or an error that says why the configuration cannot run. New
// does not check whether the model fits into memory: see Plan.
func New(cfg Config) (*Clock, error) {
	cfg, warnings, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	products, err := newProductCosts(newSetup(cfg))
	if err != nil {
		return nil, err
	}
	c := &Clock{setup: products.setup, work: newWorkForm(&cfg),
		warnings: append(warnings, products.warnings...)}
	if c.images, err = newImageCost(products); err != nil {
		return nil, err
	}
	if err := c.priceStage(products); err != nil {
		return nil, err
	}
	if cfg.Operators != nil {
		c.warnings = append(c.warnings, c.stage.coverage()...)
	}
	return c, nil
}

// priceStage prices the slowest pipeline stage. Where the layers do not divide evenly, the last
// stage has the output head and the fewest layers, and some others have one layer more. With t the
// times of probe, it takes the last stage unless max(t_longest/t_last) > max(t_last/t_longest): one
// of the two may be slower for decoding and the other for prompts, and the last one, which samples,
// for many sequences alone.
func (c *Clock) priceStage(products *productCosts) error {
	layers, stages := c.cfg.Model.Layers(), c.cfg.Parallel.Pipeline
	most, fewest := (layers+stages-1)/stages, layers/stages
	if err := c.price(products, fewest, true); err != nil || most == fewest {
		return err
	}
	last, times := *c, c.probe()
	if err := c.price(products, most, false); err != nil {
		return err
	}
	if longest := c.probe(); largestRatio(longest, times) <= largestRatio(times, longest) {
		*c = last
	}
	return nil
}

// price sets the stage to one of the given layers, which may be the last.
func (c *Clock) price(products *productCosts, layers int, last bool) error {
	stage, err := newStage(products, layers, last)
	if err != nil {
		return err
	}
	c.stage, c.host = stage, newHostCosts(stage)
	c.forget()
	return nil
}

// probe returns the times of decode steps for one sequence and for 256 of 1,024 tokens, and of a
// prompt. They do not run.
func (c *Clock) probe() [3]sim.Time {
	aside := c.Aside()
	return [3]sim.Time{aside.Duration(&sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1}),
		aside.Duration(&sim.Step{Decodes: 256, DecodeTokens: 256, Context: 256 << 10}),
		aside.Duration(&sim.Step{Prefill: []sim.Chunk{{New: 512, Last: true}}})}
}

// largestRatio returns the largest ratio of times in a to those in b.
func largestRatio(a, b [3]sim.Time) float64 {
	most := 0.0
	for i := range a {
		most = max(most, float64(a[i])/float64(b[i]))
	}
	return most
}

// Fork returns another clock with the same times, which another goroutine may use. Outside of c
// also reports the steps of its forks.
func (c *Clock) Fork() *Clock {
	fork := c.Aside()
	c.forks = append(c.forks, fork)
	return fork
}

// Aside returns another clock with the same times, for steps that are asked for and do not run:
// Outside of c does not report them.
func (c *Clock) Aside() *Clock {
	aside := *c
	aside.stage, aside.host = c.stage.fresh(), c.host.fresh()
	aside.forget()
	return &aside
}

// forget drops what c itself remembers of the steps so far.
func (c *Clock) forget() { c.forms, c.verified, c.forks, c.unsplit = nil, nil, nil, nil }

// slowdown returns the factor on all times that is configured.
func (c *Clock) slowdown() slowdown { return slowdown(c.cfg.Slowdown) }

// Warnings returns facts about the basis of the predictions that a reader should know.
func (c *Clock) Warnings() []string { return c.warnings }

// Backends returns the back ends of the operators, as far as the registry of package engines knows
// them. They are shared: do not change them.
func (c *Clock) Backends() []Chosen { return c.cfg.backends }

// Kernels names the back ends of the operators in words; empty where none is known.
func (c *Clock) Kernels() string {
	var list []string
	for i := range c.cfg.backends {
		b := &c.cfg.backends[i]
		list = append(list, b.Operator.Title()+" by "+b.Name)
	}
	return strings.Join(list, ", ")
}

// ImageTime returns the time in which one image or sound is encoded, 0 if the clock has no encoder.
func (c *Clock) ImageTime() sim.Time { return c.images.time }

// Outside describes the steps so far for which operator tables did not reach, so that formulas were
// used. It returns nil if the tables covered all steps.
func (c *Clock) Outside() []string {
	var list []string
	all := c.allOutside()
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		e := all[key]
		many := fmt.Sprintf("some of %.0f to %.0f %s", e.least, e.most, key[1])
		// a leap asks for the first of its steps, so the largest context follows from how steps are
		// taken
		if e.least == e.most || key[1] == contextTokens {
			many = fmt.Sprintf("%.0f %s", e.least, key[1])
		}
		list = append(list, fmt.Sprintf("%s: %s are not in the operator table, so by formula",
			key[0], many))
	}
	return list
}

// allOutside returns what c and its forks recorded.
func (c *Clock) allOutside() outside {
	all := outside{}
	maps.Copy(all, c.stage.tables.outside)
	for _, fork := range c.forks {
		for key, e := range fork.allOutside() {
			all.add(key, e)
		}
	}
	return all
}

// Handover returns the host's time that delays the first token of a request that continues at
// another replica.
func (c *Clock) Handover() sim.Time {
	return sim.Seconds(float64(c.engine.Handover) * c.constants.Host)
}

// RequestLatency returns the host's time that delays the first token of a request, without steps:
// what a request takes, and what each token of its prompt takes in addition. Engines without
// requests have neither.
func (c *Clock) RequestLatency() (request, token sim.Time) {
	if c.engine.Request == 0 {
		return 0, 0
	}
	factor := or1(c.cfg.Factors.Request) * c.constants.Host
	return sim.Seconds(factor * float64(c.engine.Request)),
		sim.Seconds(factor * c.cfg.Model.Tokenise())
}
