package answer

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/units"
)

// outOfReach is how many times as dear or as slow as the answer a fleet may be that is named beside
// it, and how many times the requests of that fleet the answer may serve. The table of --details
// has the others.
const outOfReach = 4

// nextBest is the number of further fleets that a brief answer names, and mostChanges that of the
// inputs that would change it.
const (
	nextBest    = 2
	mostChanges = 5
)

// WriteBrief prints the answers in some ten lines each, in 80 columns.
func (a *Answers) WriteBrief(out io.Writer) error {
	p := report.NewPrinter(out)
	for i, answer := range a.Models {
		if i > 0 {
			p.Gap()
		}
		if len(a.Models) > 1 {
			p.Heading(answer.Name)
		}
		var g page
		answer.addBrief(&g)
		g.print(p, math.MaxInt)
	}
	if len(a.Models) > 1 {
		p.Gap()
		a.printTogether(p)
	}
	return p.Err()
}

// WriteShort prints what was asked, the answers, and the commands that start them, in 25 lines of
// 80 columns. Of five models and more it prints the answers, which may take more lines.
func (a *Answers) WriteShort(out io.Writer) error {
	p := report.NewPrinter(out)
	several := len(a.Models) > 1
	left := mostLines - 1
	if several {
		left -= 2
	}
	simulations, options, differ := 0, 0, false
	for i, answer := range a.Models {
		if i > 0 {
			p.Gap()
			left--
		}
		var g page
		answer.addAsked(&g, several)
		answer.addBrief(&g)
		if !several {
			answer.addStart(&g)
		}
		rest := len(a.Models) - i
		left -= g.print(p, (left-rest+1)/rest)
		options += answer.Options
		simulations += answer.Simulations + answer.Further
		differ = differ || answer.pricesDiffer()
	}
	if several {
		p.Gap()
		a.printTogether(p)
	}
	searched := fmt.Sprintf("%d options, %d simulations", options, simulations)
	if differ {
		searched += ", prices of several sources"
	}
	p.Text(searched + "; more with --details.")
	return p.Err()
}

// printTogether prints what the fleets of all models cost together.
func (a *Answers) printTogether(p *report.Printer) {
	p.Text(fmt.Sprintf("Together: %s, %s an hour.", units.Plural(a.Accelerators, "accelerator"),
		a.Currency.Cents(a.Hourly)))
}

// addAsked adds the name, the load and the prices of the chosen fleet.
func (a *Answer) addAsked(g *page, several bool) {
	if a.Name != "" {
		g.add(essential, func(p *report.Printer) { p.Heading(a.Name) })
	}
	asked := sources
	if !several {
		asked = asides
	}
	g.add(asked, a.printAsked)
	g.add(sources, func(p *report.Printer) { a.printPrices(p, false) })
}

// addStart adds how the fleet is started: by commands, or by the flag that writes them.
func (a *Answer) addStart(g *page) {
	d := a.Chosen
	switch {
	case d == nil:
	case d.Launch == nil:
		g.text(commands, "No file starts it: "+d.Unstartable+".")
	default:
		g.add(commands, d.printStart, func(p *report.Printer) {
			p.Text("To start it: --emit DIR writes commands and files.")
		})
	}
}

// addBrief adds the fleet, how certain it is, the next best fleets, and what would change the
// answer.
func (a *Answer) addBrief(g *page) {
	d, c := a.Chosen, a.Currency
	today := func(p *report.Printer) { a.Today.print(p, c) }
	if d == nil {
		g.add(essential, a.printNone)
		if a.Nearest == nil {
			for _, pruned := range a.Pruned {
				g.add(reasons, func(p *report.Printer) { p.Item(pruned.Example) })
			}
		}
		g.add(asides, today)
		return
	}
	g.add(essential, func(p *report.Printer) { p.Heading(d.heading(a.Spare)) })
	g.add(asides, a.printSentOn)
	for _, words := range a.Warnings {
		g.text(likely, words)
	}
	if words := a.Goal.Words(); words != "" {
		g.text(asides, "Goal: "+words)
	}
	cost := func(p *report.Printer) { d.printCost(p, c) }
	if d.JobHours > 0 {
		g.add(essential, cost)
		g.text(essential, d.jobWords())
		if len(a.Jobs) > 0 {
			j := &a.Jobs[0]
			g.text(likely, fmt.Sprintf("With steps as slow as the asked confidence demands: %s "+
				"hours, %s. %s", report.Figure(j.Hours), c.Cents(j.Dollars), j.odds()))
		}
	} else {
		kept := fmt.Sprintf(". %s of the requests meet it; %s binds.", report.Percent(d.Kept),
			d.Binds)
		g.add(essential, func(p *report.Printer) { p.Text("SLO: " + a.slo() + kept) },
			func(p *report.Printer) {
				p.Text(fmt.Sprintf("SLO: one for each of %d classes%s", len(a.ClassSLOs), kept))
			})
		g.add(reasons, d.Law.print)
		g.text(likely, d.odds(a))
		g.add(essential, cost)
	}
	g.add(chosenSettings, func(p *report.Printer) { a.Tuned.print(p, a) })
	if d.Sold != nil {
		g.text(reasons, "The tokens of an hour are worth "+diagnosis.Sold(d.Sold, c)+".")
	}
	a.addFleets(g)
	g.add(asides, today)
	a.addChanges(g)
}

// addFleets adds the fleets beside the answer.
func (a *Answer) addFleets(g *page) {
	if a.Goal.Find == asked.FindFront {
		points := func(most int) func(*report.Printer) {
			return func(p *report.Printer) { a.printPoints(p, a.Front(), most) }
		}
		g.add(alternatives, points(10), points(5), points(2))
	} else if next := a.next(); next != nil {
		g.text(alternatives, "Next: "+strings.Join(next, "; ")+".")
	}
	g.add(alternatives, a.printAlone)
	for _, words := range a.others() {
		g.text(alternatives, words)
	}
}

// addChanges adds which inputs change the answer.
func (a *Answer) addChanges(g *page) {
	if a.Sensitivity == nil {
		return
	}
	var all []string
	for _, s := range a.Sensitivity {
		if s.Changes {
			all = append(all, s.Input+": "+s.Answer)
		}
	}
	if all == nil {
		g.text(changes, a.ifWrong()+", the answer is the same.")
		return
	}
	some := func(most int) func(*report.Printer) {
		return func(p *report.Printer) {
			list := slices.Clone(all)
			if more := len(all) - most; more > 0 {
				list = append(list[:most], fmt.Sprintf("and %d more", more))
			}
			p.Text(a.ifWrong() + ": " + strings.Join(list, "; ") + ".")
		}
	}
	g.add(changes, some(mostChanges), some(2))
}

// printAlone names the fleet that would be the answer if there were no other models.
func (a *Answer) printAlone(p *report.Printer) {
	if !a.Joint || a.Chosen == nil {
		return
	}
	for i := range a.Shapes {
		if s := &a.Shapes[i]; s.Replicas > 0 && s.Hourly < a.Chosen.Hourly*(1-1e-9) {
			p.Text(fmt.Sprintf("Alone, this model would have %s of %s for %s an hour; all "+
				"models together cost less with those accelerators elsewhere.",
				units.Plural(s.Replicas, "replica"), s.Label, a.Currency.Cents(s.Hourly)))
			return
		}
	}
}

// printCost prints what the fleet costs.
func (d *Deployment) printCost(p *report.Printer, c units.Currency) {
	p.Text(fmt.Sprintf("%s, %s an hour; %s for a million output tokens.",
		d.running(), c.Cents(d.Hourly), c.Format(report.Figure(d.PerMillion))))
	d.printFixed(p, c)
}

// next names the fleets that come after the chosen one, with what they were compared by.
func (a *Answer) next() []string {
	var list []string
	add := func(worse float64, replicas int, label, words string) {
		if label != a.Chosen.Label && len(list) < nextBest && worse <= outOfReach {
			list = append(list, fmt.Sprintf("%s of %s, %s", units.Plural(replicas, "replica"),
				label, words))
		}
	}
	for i := range a.Shapes {
		s := &a.Shapes[i]
		if worse := s.Hourly / a.Chosen.Hourly; s.Replicas > 0 && (!a.Joint || worse >= 1) {
			add(worse, s.Replicas, s.Label, fmt.Sprintf("%s an hour (%s)",
				a.Currency.Cents(s.Hourly), s.Grade))
		}
	}
	for i := range a.Throughputs {
		r := &a.Throughputs[i]
		add(a.Rate/r.Bound, r.Replicas, r.Label, fmt.Sprintf("less than %s/s (%s)",
			report.Figure(r.Bound), r.Grade))
	}
	for i := range a.Points {
		q := &a.Points[i]
		add(q.Latency/a.Points[0].Latency, q.Replicas, q.Label, fmt.Sprintf("%s %s (%s)",
			a.Goal.Measure, report.Figure(q.Latency), q.Grade))
	}
	for i := range a.Jobs {
		j := &a.Jobs[i]
		add(j.Dollars/a.Jobs[0].Dollars, j.Replicas, j.Label, fmt.Sprintf("%s, %s hours (%s)",
			a.Currency.Cents(j.Dollars), report.Figure(j.Hours), j.Grade))
	}
	return list
}
