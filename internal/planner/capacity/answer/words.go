package answer

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// running says how many accelerators run.
func (d *Deployment) running() string {
	words := units.Plural(d.Accelerators, "accelerator")
	if f := d.Scaled; f != nil {
		return fmt.Sprintf("On average %s replicas run, on %s of at most %s",
			report.Figure(f.Mean), report.Figure(f.Accelerators), words)
	}
	return words
}

// printFixed says what a fixed number of the replicas of a scaled fleet would cost.
func (d *Deployment) printFixed(p *report.Printer, c units.Currency) {
	if f := d.Scaled; f != nil && f.Fixed > 0 {
		p.Text(fmt.Sprintf("A fixed number of them that keeps the SLO is %d, for %s an hour.",
			f.Fixed, c.Cents(f.FixedHourly)))
	}
}

// accelerators is how many accelerators of a fleet run on average.
func (d *Deployment) MeanAccelerators() float64 {
	if d.Scaled != nil {
		return d.Scaled.Accelerators
	}
	return float64(d.Accelerators)
}

// words returns the result of the simulation in words.
func (i *Interrupted) words() string {
	return fmt.Sprintf("With replicas taken away at random, %s in %.3g hours of simulated time, "+
		"%s meet the SLO.", units.Plural(i.Interruptions, "time"), i.Hours, report.Percent(i.Kept))
}

// print prints why a fleet misses the SLO, and what would help.
func (a *Advice) print(p *report.Printer, confidence float64) {
	if a == nil {
		return
	}
	p.Text(fmt.Sprintf("With %s, steps %.3g times and TTFT %.3g times as long as predicted, which "+
		"%.3g%% of cases stay within, %s of the requests meet the SLO.",
		units.Plural(a.Replicas, "replica"), a.Slowdown, a.Slowdown*a.Late, 100*confidence,
		report.Percent(a.Kept)))
	for _, words := range a.Insights {
		p.Item(words)
	}
}

// print says by which rules fleets were left out.
func (u *Unproven) print(p *report.Printer) {
	if u == nil {
		return
	}
	words := "Fleets were left out by rules that are not proven: "
	if u.Options > 0 {
		words = fmt.Sprintf("Of %s, fleets were left out by rules that are not proven: ",
			units.Plural(u.Options, "option"))
	}
	words += strings.Join(u.Rules, "; ") + "."
	if u.Checked > 0 {
		found := "none was better"
		if u.Better > 0 {
			found = fmt.Sprintf("%d were better than the answer so far", u.Better)
		}
		words += fmt.Sprintf(" %d of them were simulated in the end, and %s.", u.Checked, found)
	}
	p.Text(words)
}

// plainShape reports whether replicas do both.
func plainShape(shape string) bool { return !strings.Contains(shape, "P+") }
