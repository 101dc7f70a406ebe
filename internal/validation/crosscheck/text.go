package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/scenarios"
)

// WriteText writes the comparison for people.
func (c *Comparison) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s: %s\n\n", c.Name, c.Title)
	fmt.Fprintf(t, "\tpredicted\texecuted\trange of %d runs\terror\t%s\n", c.Runs,
		realTimeColumn(c, "in real time"))
	for _, m := range c.Measures {
		name := m.Name
		if m.Unit != "" {
			name += " (" + m.Unit + ")"
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f – %.1f\t%+.1f %%\t%s\n", name, m.Predicted, m.Executed,
			m.Low, m.High, 100*m.Error,
			realTimeColumn(c, strconv.FormatFloat(m.RealTime, 'f', 1, 64)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nSingle steps (%d): error %.1f %% (median), %.1f %% (p90), %+.1f %% (sum); "+
		"%d took %.0f %% longer than is typical\n",
		c.Steps.Count, 100*c.Steps.Median, 100*c.Steps.P90, 100*c.Steps.Bias, c.Steps.Outliers,
		100*(OutlierLimit-1))
	for i, n := range c.Noise {
		fmt.Fprintf(w, "Run %d: the machine's speed changed by %.1f %%; other programs used %.0f "+
			"%% of the processors, a hypervisor took %.1f %%\n",
			i+1, 100*n.Drift(), 100*n.Others, 100*n.Stolen)
	}
	verdict := "The machine was quiet enough.\n"
	if c.Invalid != "" {
		verdict = "This comparison does not count: " + c.Invalid + ".\n"
	}
	_, err := io.WriteString(w, verdict)
	return err
}

// realTimeColumn returns the text where the scenario ran in real time too.
func realTimeColumn(c *Comparison, text string) string {
	if c.RealTime == nil {
		return ""
	}
	return text + "\t"
}

// Grid is a number of comparisons, and how many of them keep the limits that the project sets
// itself.
type Grid struct {
	Comparisons []*Comparison `json:"comparisons"`
	// Valid is the number of comparisons that count. Of those, MeansKept have means of TTFT, TPOT
	// and E2E and a throughput within MeanLimit, TailsKept all three p99 within TailLimit, and
	// StepsKept a median error of single steps within StepLimit.
	Valid     int `json:"valid"`
	MeansKept int `json:"means_kept"`
	TailsKept int `json:"tails_kept"`
	StepsKept int `json:"steps_kept"`
}

// The limits of errors.
const (
	MeanLimit = 0.05
	TailLimit = 0.10
	StepLimit = 0.06
)

// Summarise counts.
func Summarise(list []*Comparison) *Grid {
	g := &Grid{Comparisons: list}
	for _, c := range list {
		if c.Invalid != "" {
			continue
		}
		g.Valid++
		if c.worst("TTFT mean", "TPOT mean", "E2E mean", "output throughput") <= MeanLimit {
			g.MeansKept++
		}
		if c.worst("TTFT p99", "TPOT p99", "E2E p99") <= TailLimit {
			g.TailsKept++
		}
		if c.Steps.Median <= StepLimit {
			g.StepsKept++
		}
	}
	return g
}

// worst returns the largest absolute error of some measures.
func (c *Comparison) worst(names ...string) float64 {
	worst := 0.0
	for _, name := range names {
		worst = max(worst, math.Abs(c.Measure(name).Error))
	}
	return worst
}

// WriteText writes a line for each comparison.
func (g *Grid) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "error in %\tTTFT\tTPOT\tE2E\trate\tTTFT p99\tTPOT p99\tE2E p99\tstep\tnoise\t")
	for _, c := range g.Comparisons {
		fmt.Fprint(t, c.Name, "\t")
		for _, name := range []string{"TTFT mean", "TPOT mean", "E2E mean", "output throughput",
			"TTFT p99", "TPOT p99", "E2E p99"} {
			fmt.Fprintf(t, "%+.1f\t", 100*c.Measure(name).Error)
		}
		drift := 0.0
		for _, n := range c.Noise {
			drift = max(drift, n.Drift())
		}
		mark := ""
		if c.Invalid != "" {
			mark = " (void)"
		}
		fmt.Fprintf(t, "%.1f\t%.1f%s\t\n", 100*c.Steps.Median, 100*drift, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nOf %d scenarios %d count. Means of TTFT, TPOT, E2E and "+
		"throughput within %.0f %%: %d. All p99 within %.0f %%: %d. Median step within %.0f "+
		"%%: %d.\n",
		len(g.Comparisons), g.Valid, 100*MeanLimit, g.MeansKept, 100*TailLimit, g.TailsKept,
		100*StepLimit, g.StepsKept)
	return err
}

// draw writes pictures of the comparison into dir: the distributions of latencies over each other,
// the errors of steps against their tokens and contexts, and the steps of the first run over time.
func (c *Comparison) draw(dir string) error {
	var all error
	save := func(file string, p *plot.Plot, err error) {
		if err == nil {
			err = plots.Save(dir, file, p)
		}
		all = errors.Join(all, err)
	}
	for _, l := range []struct {
		file, title string
		of          func(r *Request) float64
	}{
		{"ttft", "Time to first token", func(r *Request) float64 { return 1000 * r.TTFT }},
		{"tpot", "Time per output token", func(r *Request) float64 { return 1000 * r.TPOT }},
		{"e2e", "Whole request", func(r *Request) float64 { return 1000 * r.E2E }},
	} {
		p, err := plots.Overlay(l.title+": "+c.Title, "milliseconds", []plots.Sample{
			{Name: "predicted", Values: pooled(c.Predicted, l.of)},
			{Name: "executed", Values: pooled(c.Executed, l.of)},
		})
		save(l.file, p, err)
	}
	for _, x := range []struct {
		file, label string
		of          func(s *Step) float64
	}{
		{"errors-by-tokens", "tokens in the step",
			func(s *Step) float64 { return float64(s.DecodeTokens + s.New) }},
		{"errors-by-context", "tokens attended to: contexts, prompts and what is cached of them",
			func(s *Step) float64 { return float64(int(s.Context) + s.Cached + s.New) }},
	} {
		p, err := plots.Errors("Errors of single steps: "+c.Title, x.label, c.stepErrors(x.of))
		save(x.file, p, err)
	}
	p, err := plots.Timeline("Steps over time: "+c.Title, "time of a step (ms)", []plots.Series{
		stepOutline("predicted", c.Predicted[0].Spans),
		stepOutline("executed", c.Executed[0].Spans),
	})
	save("timeline", p, err)
	return all
}

// timelineSeconds is how much of a run is drawn: more would be too dense to read.
const timelineSeconds = 4

// stepOutline returns the outline of steps: as high as each took, and at zero between them.
func stepOutline(name string, spans []Span) plots.Series {
	outline := plots.Series{Name: name}
	add := func(x, y float64) {
		outline.X, outline.Y = append(outline.X, x), append(outline.Y, y)
	}
	for i, s := range spans {
		if s.End > spans[0].Start+timelineSeconds {
			break
		}
		took := 1000 * (s.End - s.Start)
		if i > 0 && s.Start > spans[i-1].End {
			add(spans[i-1].End, 0)
			add(s.Start, 0)
		}
		add(s.Start, took)
		add(s.End, took)
	}
	return outline
}

// pooled returns a number of every request of some runs.
func pooled(runs []*Run, of func(r *Request) float64) []float64 {
	var values []float64
	for _, run := range runs {
		for i := range run.Requests {
			values = append(values, of(&run.Requests[i]))
		}
	}
	return values
}

// stepErrors returns the errors of all executed steps, in percent, by what was in them.
func (c *Comparison) stepErrors(x func(s *Step) float64) []plots.Series {
	kinds := []plots.Series{{Name: "decode alone"}, {Name: "prompts alone"}, {Name: "both"}}
	for _, run := range c.Executed {
		for i := range run.Steps {
			s := &run.Steps[i]
			kind := &kinds[0]
			switch {
			case s.Chunks > 0 && s.Decodes > 0:
				kind = &kinds[2]
			case s.Chunks > 0:
				kind = &kinds[1]
			}
			kind.X, kind.Y = append(kind.X, x(s)), append(kind.Y, 100*s.Error())
		}
	}
	return kinds
}

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
