package compare

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// WriteText prints the comparison for people, in 80 columns.
func (c *Comparison) WriteText(out io.Writer) error {
	p := report.NewPrinter(out)
	first := &c.Variants[0]
	p.Heading(first.Label)
	p.Text(first.Setup)
	p.Text(first.Load)
	for i := 1; i < len(c.Variants); i++ {
		p.Gap()
		c.printVariant(p, &c.Variants[i])
	}
	p.Gap()
	for _, words := range c.basis() {
		p.Text(words)
	}
	for i := range c.Variants {
		if !c.Variants[i].Settled {
			p.Text(fmt.Sprintf(
				"Note: %s does not reach a steady state: its latencies change over the whole "+
					"run, and a longer run would show others. Either more requests arrive than "+
					"it can serve, or the run has too few requests.",
				c.Variants[i].Label))
		}
	}
	return p.Err()
}

// basis says what the figures rest on.
func (c *Comparison) basis() []string {
	var list []string
	if c.Replications == 1 {
		list = append(list, "The results do not depend on the seed, so each scenario runs once. "+
			"The differences have no intervals, and would be others with other requests.")
	} else {
		list = append(list, fmt.Sprintf(
			"%d runs of each with the same %d seeds. Intervals [in brackets] and “noise” are at "+
				"%s%% confidence for all figures of a table together.",
			c.Replications, c.Replications, units.Significant(100*c.Confidence, 4)))
	}
	if c.anyUnsure() {
		list = append(list, "“Unsure” differences are more than noise, but the range for wrong "+
			"predictions, which holds in 80% of cases, contains 0. Scenarios on the same "+
			"accelerators under the same engine share their errors, which cancel and are left out.")
	}
	if c.Recorded && c.Replications > 1 {
		list = append(list, "A recorded trace is one sample: the intervals cover the random "+
			"draws of the simulation, and not other days.")
	}
	list = append(list, "Tokens/s counts the answers that end while requests arrive. Prices "+
		"are at the offered rate if all runs keep up with it, and else over whole runs, as energy "+
		"and the gaps between tokens (ITL) are.")
	if c.NoWarmUp != "" {
		list = append(list, "Whole runs are compared: "+c.NoWarmUp+".")
	} else {
		list = append(list, fmt.Sprintf(
			"The first %d requests of every run are warm-up and left out.", c.WarmUp))
	}
	return list
}

// printVariant prints how a variant differs from the first.
func (c *Comparison) printVariant(p *report.Printer, v *Outcome) {
	first := &c.Variants[0]
	p.Heading(v.Label + " against " + first.Label)
	for _, change := range v.Changes {
		p.Item(change.String())
	}
	if len(v.Changes) == 0 {
		p.Item("no key differs")
	}
	rows := make([][]string, len(v.Figures))
	for i := range v.Figures {
		f := &v.Figures[i]
		base := first.Figures[i].Value.Mean
		rows[i] = []string{f.Title, amount(base, f.Unit), amount(f.Value.Mean, f.Unit),
			f.difference(base), f.bar(base), f.verdict()}
	}
	rows = append(rows,
		[]string{"SLO", first.slo(), v.slo(), "", "", ""},
		[]string{"evidence", string(first.Evidence.Grade), string(v.Evidence.Grade), "", "", ""})
	p.Table([]string{"", "first", "this", "difference", "", ""}, rows, 0, 5)
	if first.Binds+v.Binds != "" {
		p.Text(fmt.Sprintf("The limit that binds: %s of the first, %s of this.", first.Binds,
			v.Binds))
	}
	if len(v.Effects) > 0 {
		p.Gap()
		c.printEffects(p, v)
	}
}

// headline names the figures that show the effects of changes.
func headline() []string {
	return []string{"p99_ttft_ms", "p99_tpot_ms", "output_throughput", "slo_attainment",
		"cost_per_million_output_tokens"}
}

func (c *Comparison) printEffects(p *report.Printer, v *Outcome) {
	p.Text("Which change matters? Each alone:")
	header := []string{"change"}
	var rows [][]string
	var impossible []string
	for i := range v.Effects {
		e := &v.Effects[i]
		if e.Impossible != "" {
			impossible = append(impossible, fmt.Sprintf("%s cannot be changed alone: %s",
				e.keys(), e.Impossible))
			continue
		}
		row := []string{e.keys()}
		for _, name := range headline() {
			for j := range e.Figures {
				if f := &e.Figures[j]; f.Name == name {
					row = append(row, e.cell(f, c.Variants[0].Figures[j].Value.Mean))
					if len(rows) == 0 {
						header = append(header, f.Title)
					}
				}
			}
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		p.Table(header, rows, 0)
	}
	for _, words := range impossible {
		p.Item(words)
	}
}

func (e *Effect) keys() string { return keys(append([]Change{e.Change}, e.With...)) }

func (e *Effect) cell(f *Figure, base float64) string {
	switch {
	case f.absent():
		return "–"
	case !f.BeyondNoise && !math.IsInf(f.Difference.Half, 1):
		return "noise"
	case f.Unit == string(scenarios.Percent):
		return points(stats.Interval{Mean: f.Difference.Mean})
	}
	return share(f.Difference.Mean, f.shareBase(base))
}

// bar draws the difference as a share of a value, lightly where it is within noise. It is full at
// 100 %.
func (f *Figure) bar(base float64) string {
	if f.absent() {
		return ""
	}
	change := f.Difference.Mean
	if base != 0 {
		change /= math.Abs(base)
	}
	return report.Change(change, 5, f.BeyondNoise)
}

// anyUnsure reports whether a difference is called unsure.
func (c *Comparison) anyUnsure() bool {
	return slices.ContainsFunc(c.Variants, func(v Outcome) bool {
		return slices.ContainsFunc(v.Figures, func(f Figure) bool { return f.Unsure })
	})
}
