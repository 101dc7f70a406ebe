package answer

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/units"
)

// outOfReach is how many times as dear as the answer a fleet may be that is named beside it. One
// that is dearer keeps the SLO only because it is nearly idle; the table of --details has it.
const outOfReach = 4

// nextBest is the number of further fleets that a brief answer names, and mostChanges that of the
// inputs that would change it. mostPoints bounds the fleets of a front.
const (
	nextBest    = 2
	mostChanges = 5
	mostPoints  = 10
)

// WriteBrief prints the answers in some ten lines each, in 80 columns.
func (a *Answers) WriteBrief(out io.Writer) error { return a.write(out, (*Answer).printBrief) }

// WriteShort prints what was asked, the answers, and the commands that start them, in 25 lines each
// at most, in 80 columns.
func (a *Answers) WriteShort(out io.Writer) error {
	return a.write(out, func(answer *Answer, p *report.Printer) {
		answer.printAsked(p)
		answer.printPrices(p, false)
		answer.printBrief(p)
		if answer.Chosen != nil {
			answer.Chosen.printStart(p)
		}
		searched := fmt.Sprintf("%d options, %d simulations", answer.Options,
			answer.Simulations+answer.Further)
		if answer.pricesDiffer() {
			searched += ", prices of several sources"
		}
		p.Text(searched + "; more with --details.")
	})
}

// write prints each answer, and what all cost together.
func (a *Answers) write(out io.Writer, print func(*Answer, *report.Printer)) error {
	p := report.NewPrinter(out)
	for i, answer := range a.Models {
		if i > 0 {
			p.Gap()
		}
		if len(a.Models) > 1 {
			p.Heading(answer.Name)
		}
		print(answer, p)
	}
	if len(a.Models) > 1 {
		p.Gap()
		p.Text(fmt.Sprintf("Together: %s, %s an hour.",
			units.Plural(a.Accelerators, "accelerator"), a.Currency.Cents(a.Hourly)))
	}
	return p.Err()
}

// printBrief prints the fleet, how certain it is, the next best fleets, and what would change the
// answer.
func (a *Answer) printBrief(p *report.Printer) {
	if a.Chosen == nil {
		a.printNone(p)
		if a.Nearest == nil {
			for _, pruned := range a.Pruned {
				p.Item(pruned.Example)
			}
		}
		a.Today.print(p, a.Currency)
		return
	}
	d := a.Chosen
	p.Heading(d.heading(a.Spare))
	a.printSentOn(p)
	if words := a.Goal.Words(); words != "" {
		p.Text("Goal: " + words)
	}
	if d.JobHours > 0 {
		d.printCost(p, a.Currency)
		p.Text(d.jobWords())
		if len(a.Jobs) > 0 {
			j := &a.Jobs[0]
			p.Text(fmt.Sprintf("With steps as slow as the asked confidence demands: %s hours, "+
				"%s. %s", report.Figure(j.Hours), a.Currency.Cents(j.Dollars), j.odds()))
		}
	} else {
		p.Text(fmt.Sprintf("SLO: %s. %s of the requests meet it; %s binds.", a.slo(),
			report.Percent(d.Kept), d.Binds))
		d.Law.print(p)
		p.Text(d.odds(a))
		d.printCost(p, a.Currency)
	}
	a.Tuned.print(p, a)
	if d.Sold != nil {
		p.Text("The tokens of an hour are worth " + diagnosis.Sold(d.Sold, a.Currency) + ".")
	}
	if a.Goal.Find == menu.FindFront {
		a.printPoints(p, a.Front())
	} else if next := a.next(); next != nil {
		p.Text("Next: " + strings.Join(next, "; ") + ".")
	}
	a.printAlone(p)
	a.printOthers(p)
	a.Today.print(p, a.Currency)
	var changes []string
	for _, s := range a.Sensitivity {
		if s.Changes {
			changes = append(changes, s.Input+": "+s.Answer)
		}
	}
	if more := len(changes) - mostChanges; more > 0 {
		changes = append(changes[:mostChanges], fmt.Sprintf("and %d more", more))
	}
	switch {
	case changes != nil:
		p.Text(a.ifWrong() + ": " + strings.Join(changes, "; ") + ".")
	case a.Sensitivity != nil:
		p.Text(a.ifWrong() + ", the answer is the same.")
	}
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
	add := func(replicas int, label, words string) {
		if label != a.Chosen.Label && len(list) < nextBest {
			list = append(list, fmt.Sprintf("%s of %s, %s", units.Plural(replicas, "replica"),
				label, words))
		}
	}
	for i := range a.Shapes {
		if s := &a.Shapes[i]; s.Replicas > 0 && s.Hourly <= outOfReach*a.Chosen.Hourly {
			add(s.Replicas, s.Label, fmt.Sprintf("%s an hour (%s)", a.Currency.Cents(s.Hourly),
				s.Grade))
		}
	}
	for i := range a.Throughputs {
		r := &a.Throughputs[i]
		add(r.Replicas, r.Label, fmt.Sprintf("less than %s/s (%s)", report.Figure(r.Bound),
			r.Grade))
	}
	for i := range a.Points {
		q := &a.Points[i]
		add(q.Replicas, q.Label, fmt.Sprintf("%s %s (%s)", a.Goal.Measure,
			report.Figure(q.Latency), q.Grade))
	}
	for i := range a.Jobs {
		j := &a.Jobs[i]
		add(j.Replicas, j.Label, fmt.Sprintf("%s, %s hours (%s)", a.Currency.Cents(j.Dollars),
			report.Figure(j.Hours), j.Grade))
	}
	return list
}
