package answer

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/units"
)

// WriteText prints the answer for people, in 80 columns.
func (a *Answer) WriteText(out io.Writer) error {
	p := report.NewPrinter(out)
	if a.Name != "" {
		p.Heading(a.Name)
	}
	a.printAsked(p)
	a.printPrices(p, true)
	a.printGoals(p)
	a.printSentOn(p)
	for _, words := range a.Warnings {
		p.Text(words)
	}
	p.Gap()
	if a.Chosen != nil {
		a.Chosen.print(p, a)
	} else {
		a.printNone(p)
	}
	if a.Nearest != nil && a.Goal.Find != asked.FindJob {
		a.Nearest.Advice.print(p, a.Confidence)
	}
	p.Gap()
	if a.Goal.Find == asked.FindCheapest {
		a.printShapes(p)
	} else {
		a.printGoal(p)
	}
	p.Gap()
	a.Today.print(p, a.Currency)
	a.printMore(p)
	a.printSearch(p)
	return p.Err()
}

// printAsked prints the load of the plan, and where prices are from.
func (a *Answer) printAsked(p *report.Printer) {
	if a.Load == "" { // no server was built that the load could be drawn for
		p.Text(a.Model)
	} else {
		p.Text(a.Model + "; " + a.Load)
	}
	if a.Prices != "" {
		p.Text("Prices: " + a.Prices)
	}
}

// printSentOn says where the requests come from, if another model has them first.
func (a *Answer) printSentOn(p *report.Printer) {
	if a.SentOn != "" {
		p.Text(a.SentOn)
	}
}

// printGoals prints the SLO and the goal.
func (a *Answer) printGoals(p *report.Printer) {
	if a.Goal.Find != asked.FindJob {
		p.Text("SLO: " + a.slo())
	}
	if words := a.Goal.Words(); words != "" {
		p.Text("Goal: " + words)
	}
}

// rate prints a rate in requests a second, or in requests an hour if there are few.
func rate(perSecond float64) string {
	if perSecond < 0.05 {
		return report.Figure(3600*perSecond) + "/h"
	}
	return report.Figure(perSecond) + "/s"
}

// printNone prints that there is no answer, and which option comes nearest.
func (a *Answer) printNone(p *report.Printer) {
	if a.Nearest == nil {
		p.Heading("No option of the menu can be built.")
		return
	}
	p.Heading(a.Goal.Missed())
	if a.Goal.Find != asked.FindJob {
		p.Text(fmt.Sprintf("The nearest option is %s, where %s of the requests meet it: "+
			"%s.", a.Nearest.Label,
			report.Percent(a.Nearest.Kept), a.Nearest.Limit))
	}
}

func (a *Answer) slo() string {
	var parts []string
	for _, c := range a.ClassSLOs {
		parts = append(parts, c.Class+" "+c.SLO.Words())
	}
	words := a.SLO.Words()
	if parts != nil {
		words = strings.Join(parts, "; ")
	}
	if a.Rate > 0 {
		words = rate(a.Rate) + ", " + words
	}
	if a.Spare > 0 {
		words += fmt.Sprintf("; also with %d down", a.Spare)
	}
	return words
}

func (d *Deployment) print(p *report.Printer, a *Answer) {
	spare := a.Spare
	p.Heading(d.heading(spare))
	p.Text(fmt.Sprintf("%s, %s an hour; for a million output tokens %s, %s GPU-hours and at "+
		"most %s Wh.", d.running(), a.Currency.Cents(d.Hourly),
		a.Currency.Format(report.Figure(d.PerMillion)), report.Figure(d.GPUHours),
		report.Figure(d.EnergyPerMillion)))
	d.printFixed(p, a.Currency)
	a.Tuned.print(p, a)
	if d.Carbon > 0 {
		p.Text(fmt.Sprintf("For that energy at most %s g of CO2 are emitted.",
			report.Figure(d.Carbon)))
	}
	if d.Sold != nil {
		p.Text("At these prices the tokens of an hour are worth " +
			diagnosis.Sold(d.Sold, a.Currency) + ".")
	}
	if d.JobHours > 0 {
		p.Text(d.jobWords())
		if len(a.Jobs) > 0 {
			p.Text(a.Jobs[0].odds())
		}
		d.printStart(p)
		return
	}
	words := fmt.Sprintf("%s: %s of the requests meet the SLO", d.seen(),
		report.Percent(d.Kept))
	if spare > 0 {
		words += fmt.Sprintf(", %s with %d down", report.Percent(d.KeptWithoutSpares), spare)
	}
	var classes []string
	for _, c := range d.Classes {
		classes = append(classes, report.Percent(c.Kept)+" of "+c.Name)
	}
	if classes != nil {
		words += " (" + strings.Join(classes, ", ") + ")"
	}
	p.Text(fmt.Sprintf("%s; %s binds.", words, d.Binds))
	if i := d.Interrupted; i != nil {
		p.Text(i.words())
	}
	d.Law.print(p)
	p.Text(d.odds(a))
	for _, words := range d.Insights {
		p.Text(words)
	}
	d.OneFewer.print(p, a.Confidence)
	d.printStart(p)
}

// heading names the fleet, some of whose replicas are spare.
func (d *Deployment) heading(spare int) string {
	words := units.Plural(d.Replicas, "replica") + " of " + d.Label
	if d.Scaled != nil {
		words = fmt.Sprintf("%d to %s", d.Scaled.Fewest, words)
	}
	if spare > 0 {
		words += fmt.Sprintf(", %d of them spare", spare)
	}
	return "Answer: " + words + " (" + string(d.Grade) + ")"
}

// printStart prints the commands that start a replica, and what they do not express.
func (d *Deployment) printStart(p *report.Printer) {
	if p.Gap(); d.Launch == nil {
		p.Text("No file starts it: " + d.Unstartable + ".")
		return
	}
	p.Text("To start a replica:")
	for _, command := range d.Launch {
		p.Command(command)
	}
	if len(d.Lacks) > 0 {
		p.Text("What was simulated and is not in it:")
	}
	for _, note := range d.Lacks {
		p.Item(note)
	}
}

func (a *Answer) printMore(p *report.Printer) {
	for _, words := range a.others() {
		p.Text(words)
	}
	a.printSensitivity(p)
}

// others returns paragraphs on alternatives to the answer.
func (a *Answer) others() []string {
	var list []string
	if g := a.Growth; g != nil && g.Replicas > 0 {
		list = append(list, fmt.Sprintf("For %g times the rate: %s of %s, %s an hour.", g.Factor,
			units.Plural(g.Replicas, "replica"), g.Label, a.Currency.Cents(g.Hourly)))
	} else if g != nil {
		list = append(list, fmt.Sprintf("For %g times the rate no option of the menu suffices.",
			g.Factor))
	}
	return list
}

// ifWrong begins a sentence about answers with other inputs.
func (a *Answer) ifWrong() string {
	if a.Contenders > 0 {
		return fmt.Sprintf("If an input is wrong by 10%%, among the %d nearest options",
			a.Contenders)
	}
	return "If an input is wrong by 10%"
}

// printSensitivity prints which inputs change the answer.
func (a *Answer) printSensitivity(p *report.Printer) {
	if len(a.Sensitivity) == 0 {
		return
	}
	p.Text(a.ifWrong() + ", the answer becomes:")
	same := ""
	for _, s := range a.Sensitivity {
		if s.Changes {
			p.Item(s.Input + ": " + s.Answer)
			continue
		}
		if same != "" {
			same += ", "
		}
		same += s.Input
	}
	if same != "" {
		p.Item("the same with " + same)
	}
	p.Gap()
}

func (a *Answer) printSearch(p *report.Printer) {
	p.Text(fmt.Sprintf("%d options, %d simulations to find the answer and %d for the rest of "+
		"this page; decisions at %.4g%% confidence.",
		a.Options, a.Simulations, a.Further, 100*a.Confidence))
	a.Tuned.printTried(p, a.Goal)
	for _, pruned := range a.Pruned {
		p.Item(fmt.Sprintf("%d not simulated: %s. %s", pruned.Options, pruned.Why, pruned.Example))
	}
	a.Unproven.print(p)
}

// WriteText prints the answers for people, in 80 columns.
func (a *Answers) WriteText(out io.Writer) error {
	for i, answer := range a.Models {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := answer.WriteText(out); err != nil {
			return err
		}
	}
	if len(a.Models) == 1 {
		return nil
	}
	p := report.NewPrinter(out)
	p.Gap()
	p.Heading(cmp.Or(a.Name, "All models"))
	var rows [][]string
	for _, answer := range a.Models {
		row := []string{answer.Name, "none meets the SLO", "–", "–", "–"}
		if d := answer.Chosen; d != nil {
			row = []string{answer.Name, d.Label, fmt.Sprint(d.Replicas), fmt.Sprint(d.Accelerators),
				fmt.Sprintf("%.2f", d.Hourly)}
		}
		rows = append(rows, row)
	}
	rows = append(rows, []string{"together", "", "", fmt.Sprint(a.Accelerators),
		fmt.Sprintf("%.2f", a.Hourly)})
	p.Table([]string{"model", "replica", "replicas", "GPUs", a.Currency.Unit() + "/h"}, rows, 0, 1)
	return p.Err()
}
