package compare

import (
	"fmt"
	"io"
	"math"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/terminal"
	"github.com/llmsim/llmsim/internal/units"
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
	p.Text(fmt.Sprintf("%d runs of each with the same %d seeds; the first %d requests of every run are warm-up and left out. ± and “noise” are at %.4g%% confidence for all figures of a table together.",
		c.Replications, c.Replications, c.WarmUp, 100*c.Confidence))
	for i := range c.Variants {
		if !c.Variants[i].Settled {
			p.Text(fmt.Sprintf("Note: %s does not settle: its latencies change over the whole run, and would be others in a longer one. More requests than it can serve, or too few to tell?", c.Variants[i].Label))
		}
	}
	return p.Err()
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
		rows[i] = []string{f.Title, amount(first.Figures[i].Value.Mean, f.Unit), amount(f.Value.Mean, f.Unit), relative(f.Difference, first.Figures[i].Value.Mean), f.bar(first.Figures[i].Value.Mean), f.verdict()}
	}
	p.Table([]string{"", "first", "this", "difference", "", ""}, rows, 0, 4, 5)
	if len(v.Effects) > 0 {
		p.Gap()
		c.printEffects(p, v)
	}
}

// headline names the figures by which the effects of changes are told.
func headline() []string {
	return []string{"p99_ttft_ms", "p99_tpot_ms", "output_throughput", "slo_attainment", "cost_per_million_output_tokens"}
}

func (c *Comparison) printEffects(p *report.Printer, v *Outcome) {
	p.Text("Which change matters? Each alone:")
	header := []string{"change"}
	var rows [][]string
	var impossible []string
	for i := range v.Effects {
		e := &v.Effects[i]
		if e.Impossible != "" {
			impossible = append(impossible, fmt.Sprintf("%s cannot be changed alone: %s", e.Change.Key, e.Impossible))
			continue
		}
		row := []string{e.Change.Key}
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

func (e *Effect) cell(f *Figure, base float64) string {
	if !f.BeyondNoise {
		return "noise"
	}
	return share(f.Difference.Mean, base)
}

func (f *Figure) verdict() string {
	switch {
	case f.Difference.Mean == 0 && f.Difference.Half == 0:
		return "the same"
	case !f.BeyondNoise:
		return "within noise"
	case f.Better:
		return "better"
	}
	return "worse"
}

// bar draws the difference as a share of a value, lightly where it is within noise. It is full at 100 %.
func (f *Figure) bar(base float64) string {
	change := f.Difference.Mean
	if base != 0 {
		change /= math.Abs(base)
	}
	return terminal.Change(change, 5, f.BeyondNoise)
}

// amount prints a value with its unit.
func amount(x float64, unit string) string {
	switch unit {
	case "ms":
		return units.FormatDuration(x / 1000)
	case "$":
		return "$" + report.Figure(x)
	case "%":
		return report.Percent(x / 100)
	case "1/s":
		return report.Figure(x) + "/s"
	}
	return report.Figure(x) + " " + unit
}

// relative prints a difference as a share of a value, as a factor where it is large, with its interval.
func relative(d stats.Interval, base float64) string {
	if base == 0 {
		return fmt.Sprintf("%+.3g ± %.2g", d.Mean, d.Half)
	}
	half := 100 * d.Half / math.Abs(base)
	if d.Mean >= 10*math.Abs(base) {
		return fmt.Sprintf("%s ± %.2g", share(d.Mean, base), half/100)
	}
	return fmt.Sprintf("%s ± %.2g%%", share(d.Mean, base), half)
}

func share(x, base float64) string {
	if base == 0 {
		return fmt.Sprintf("%+.3g", x)
	}
	percent := 100 * x / math.Abs(base)
	if percent >= 1000 {
		return "×" + report.Figure(1+percent/100)
	}
	if math.Abs(percent) >= 99.5 {
		return fmt.Sprintf("%+.0f%%", percent)
	}
	return fmt.Sprintf("%+.2g%%", percent)
}
