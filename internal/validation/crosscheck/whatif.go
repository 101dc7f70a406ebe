package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/scenarios"
)

// WhatIf is a scenario and a change to it: what the change does, predicted and executed. Runs of
// both take turns, so that a machine that slows down slows both.
type WhatIf struct {
	// Change is what was set, as on the command line.
	Change  string      `json:"change"`
	Before  *Comparison `json:"before"`
	After   *Comparison `json:"after"`
	Effects []Effect    `json:"effects"`
}

// Effect is what a change does to one number, relative to what it was before.
type Effect struct {
	Name string `json:"name"`
	// Predicted and Executed are after/before − 1, medians over the pairs of runs.
	Predicted float64 `json:"predicted"`
	Executed  float64 `json:"executed"`
}

// EffectLimit is the error of an effect that is tolerated, as a share of the effect; SmallEffect is
// what is tolerated of effects so small that noise would decide.
const (
	EffectLimit = 0.10
	SmallEffect = 0.02
)

// Off returns predicted less executed, as a share of the executed effect.
func (e *Effect) Off() float64 { return (e.Predicted - e.Executed) / math.Abs(e.Executed) }

// Kept reports whether the effect was predicted within the limit.
func (e *Effect) Kept() bool {
	return math.Abs(e.Predicted-e.Executed) <= max(EffectLimit*math.Abs(e.Executed), SmallEffect)
}

// Ask predicts and executes a scenario before and after a change, the given number of times in
// turns.
func Ask(ctx context.Context, name, change string, before, after *scenarios.File,
	hosts *calibration.Machines, runs int) (w *WhatIf, err error) {
	a, err := open(ctx, name, before, hosts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	b, err := open(ctx, name+" with "+change, after, hosts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for range runs {
		if err := errors.Join(a.run(ctx), b.run(ctx)); err != nil {
			return nil, err
		}
	}
	w = &WhatIf{Change: change, Before: a.compare(), After: b.compare()}
	w.measure()
	return w, nil
}

func (w *WhatIf) measure() {
	compared := []string{"TTFT mean", "TPOT mean", "E2E mean", "output throughput"}
	for _, m := range allMeasures() {
		if !slices.Contains(compared, m.name) {
			continue
		}
		var predicted, executed []float64
		for i := range w.Before.Executed {
			p, e := m.of(w.Before.Predicted[i].Result), m.of(w.Before.Executed[i].Result)
			if p > 0 && e > 0 {
				predicted = append(predicted, m.of(w.After.Predicted[i].Result)/p-1)
				executed = append(executed, m.of(w.After.Executed[i].Result)/e-1)
			}
		}
		if len(executed) > 0 {
			w.Effects = append(w.Effects,
				Effect{m.name, calibration.Median(predicted), calibration.Median(executed)})
		}
	}
}

// Invalid says why the comparison does not count; empty where it does.
func (w *WhatIf) Invalid() string {
	if w.Before.Invalid != "" {
		return w.Before.Invalid
	}
	return w.After.Invalid
}

// WriteWhatIfs writes a line for each effect.
func WriteWhatIfs(out io.Writer, list []*WhatIf) error {
	kept, all := 0, 0
	for _, w := range list {
		fmt.Fprintf(out, "%s: %s\n%18s %10s %10s %10s\n", w.Before.Name, w.Change, "effect on",
			"predicted", "executed", "off by")
		for i := range w.Effects {
			e := &w.Effects[i]
			mark := ""
			if !e.Kept() {
				mark = "  !"
			}
			fmt.Fprintf(out, "%18s %+8.1f %% %+8.1f %% %+8.1f %% of it%s\n", e.Name,
				100*e.Predicted, 100*e.Executed, 100*e.Off(), mark)
			if w.Invalid() == "" {
				all++
				if e.Kept() {
					kept++
				}
			}
		}
		if w.Invalid() != "" {
			fmt.Fprintf(out, "This comparison does not count: %s.\n", w.Invalid())
		}
		fmt.Fprintln(out)
	}
	_, err := fmt.Fprintf(out,
		"%d of %d effects are predicted within %.0f %% of the effect, or %.0f points where it is "+
			"small.\n", kept, all, 100*EffectLimit, 100*SmallEffect)
	return err
}
