package tuning

import (
	"fmt"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Blocks says the answer.
func (a *Answer) Blocks() (p doc.Blocks) {
	if a.Name != "" {
		p.Heading(a.Name)
	}
	p.Text(a.Setup)
	p.Text(a.Load)
	p.Gap()
	p.Text(a.headline())
	p.Gap()
	a.addOutcomes(&p)
	if a.Changed() {
		p.Gap()
		a.addFlags(&p)
	}
	if len(a.Launch) > 0 {
		p.Gap()
		p.Text("To start a replica:")
		for _, line := range a.Launch {
			p.Line("  " + line)
		}
	}
	for _, note := range a.Notes {
		p.Item(note)
	}
	p.Gap()
	a.addSearch(&p)
	return p
}

// headline says what was found in a line.
func (a *Answer) headline() string {
	switch title := strings.ToUpper(a.Title[:1]) + a.Title[1:]; {
	case len(a.Dropped) > 0:
		return fmt.Sprintf("%s: %s, and the best option, %s, is no better beyond noise with "+
			"other seeds", title, a.amount(a.Default.Value), strings.Join(a.Dropped, " "))
	case !a.Changed():
		return fmt.Sprintf("%s: %s, and no option does better beyond noise", title,
			a.amount(a.Default.Value))
	default:
		return fmt.Sprintf("%s: %s in place of %s", title, a.amount(a.Tuned.Value),
			a.amount(a.Default.Value))
	}
}

// amount prints a figure of the goal with its interval.
func (a *Answer) amount(v stats.Interval) string {
	words := a.number(v.Mean)
	if v.Half > 0 && !math.IsInf(v.Half, 1) {
		words += " ± " + a.number(v.Half)
	}
	return words
}

// number prints a figure of the goal.
func (a *Answer) number(x float64) string {
	switch a.Unit {
	case "%":
		if math.Abs(x) >= 1000 {
			return units.Significant(x/100, 3) + " times"
		}
		return units.Significant(x, 3) + "%"
	case "ms":
		sign := ""
		if x < 0 {
			sign, x = "-", -x
		}
		return sign + units.FormatDuration(x/1000)
	}
	return units.Significant(x, 4) + "/s"
}

// addOutcomes shows the default and the best side by side, or the default alone where it is the
// answer.
func (a *Answer) addOutcomes(p *doc.Blocks) {
	header, outcomes := []string{"", "default", "tuned"}, []*Outcome{&a.Default, &a.Tuned}
	if !a.Changed() {
		header, outcomes = header[:2], outcomes[:1]
	}
	var rows [][]string
	row := func(title string, words func(o *Outcome) string) {
		cells := []string{title}
		for _, o := range outcomes {
			cells = append(cells, words(o))
		}
		rows = append(rows, cells)
	}
	if a.Goal == "slo" {
		row(a.Title, func(o *Outcome) string { return a.number(o.Value.Mean) })
	}
	for _, name := range figureNames() {
		m := scenarios.MetricNamed(name)
		row(m.Title, func(o *Outcome) string {
			words := planner.Words(m.Unit, o.Figures[name])
			if m.Unit == scenarios.PerSeconds {
				words += "/s"
			}
			return words
		})
	}
	row("runs that meet the SLO", func(o *Outcome) string { return units.Percent(o.Met) })
	p.Table(header, rows, 0)
}

// addFlags shows what each setting brought.
func (a *Answer) addFlags(p *doc.Blocks) {
	var rows [][]string
	for i := range a.Flags {
		f := &a.Flags[i]
		row := []string{f.Name, f.Default, f.Tuned, "–", "not alone"}
		if f.Bought != nil {
			row[3], row[4] = a.number(f.Without.Mean), a.amount(f.Bought.Interval)
			if f.Bought.NoDifference {
				row[4] = "no difference"
			}
		}
		rows = append(rows, row)
	}
	p.Table([]string{"setting", "default", "tuned", "without it", "it brought"}, rows, 0, 1, 2)
	for i := range a.Flags {
		if f := &a.Flags[i]; f.Alone != "" {
			p.Text(fmt.Sprintf("%s cannot be undone alone: %s", f.Name, f.Alone))
		}
	}
}

// mostReasons is the number of reasons that are printed; all are in the JSON.
const mostReasons = 5

// addSearch says how the best was found, and what the figures rest on.
func (a *Answer) addSearch(p *doc.Blocks) {
	refused := 0
	for _, u := range a.Unfit {
		refused += u.Options
	}
	words := fmt.Sprintf("%d options", a.Options)
	if a.Tried < a.Options {
		words += fmt.Sprintf(", of which %d were tried", a.Tried)
	}
	if refused > 0 {
		words += fmt.Sprintf("; %d of them cannot run", refused)
	}
	p.Text(words + ":")
	for i, u := range a.Unfit {
		if i == mostReasons {
			p.Item(fmt.Sprintf("and %d more reasons, which are in the JSON", len(a.Unfit)-i))
			break
		}
		p.Item(fmt.Sprintf("%d, such as %s: %s", u.Options, strings.Join(u.Example, " "),
			u.Reason))
	}
	for _, r := range a.Rungs {
		seeds := ""
		if r.Seeds > 1 {
			seeds = fmt.Sprintf(" for each of %d seeds", r.Seeds)
		}
		p.Item(fmt.Sprintf("%d went through %d requests%s", r.Options, r.Requests, seeds))
	}
	if a.Seeds > 1 {
		p.Text(fmt.Sprintf("The figures above are from %d other seeds; intervals are at %s%% "+
			"confidence together. They cover the random draws, and not how wrong predictions may "+
			"be: the evidence is “%s”, and llmsim compare weighs it.", a.Seeds,
			units.Significant(100*a.Confidence, 4), a.Evidence.Grade))
	} else {
		p.Text(fmt.Sprintf("Nothing in this scenario is random, so each option runs once. The "+
			"differences would be others with other requests. The evidence is "+
			"“%s”.", a.Evidence.Grade))
	}
}
