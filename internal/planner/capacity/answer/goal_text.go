package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// mostRows is the largest number of fleets that a page shows.
const mostRows = 24

// printGoal prints the table of a goal other than the cheapest fleet.
func (a *Answer) printGoal(p *report.Printer) {
	switch a.Goal.Find {
	case asked.FindJob:
		a.printJobs(p)
	case asked.FindThroughput:
		a.printReaches(p)
	case asked.FindFront:
		front := a.Front()
		p.Text(fmt.Sprintf("No other fleet is as good as one of these in price, latency and "+
			"energy at once (%d of %d that keep the SLO):", len(front), len(a.Points)))
		a.printPoints(p, front, mostRows)
	}
}

// Front returns the fleets of the front, by price.
func (a *Answer) Front() []Point {
	var list []Point
	for _, p := range a.Points {
		if p.Front {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Hourly, b.Hourly), cmp.Compare(a.Latency, b.Latency))
	})
	return list
}

// money heads a column of amounts a unit.
func (a *Answer) money(unit string) string { return a.Currency.Unit() + unit }

// printPoints prints simulated fleets, as many as most.
func (a *Answer) printPoints(p *report.Printer, list []Point, most int) {
	var rows [][]string
	for i := range list[:min(len(list), most)] {
		q := &list[i]
		rows = append(rows, []string{fmt.Sprintf("%d of %s", q.Replicas, q.Label),
			fmt.Sprintf("%.2f", q.Hourly), report.Figure(q.Latency), report.Figure(q.Energy),
			string(q.Grade)})
	}
	p.Table([]string{"replicas", a.money("/h"), a.Goal.Measure, "Wh/1M", "evidence"}, rows, 0, 4)
	if left := len(list) - len(rows); left > 0 {
		p.Text(fmt.Sprintf("%d more are in plan.json of --out.", left))
	}
	p.Text("Latency and energy are simulated with slow steps: at the asked confidence, by how " +
		"far predictions of such servers were off (docs/validation.md).")
}

func (a *Answer) printReaches(p *report.Printer) {
	var rows [][]string
	for i := range a.Throughputs {
		r := &a.Throughputs[i]
		rate := report.Figure(r.Rate)
		if r.Rate < 0.96*r.Bound {
			rate = "< " + report.Figure(r.Bound)
		}
		rows = append(rows, []string{fmt.Sprintf("%d of %s", r.Replicas, r.Label), rate,
			fmt.Sprintf("%.2f", r.Hourly), units.FormatPower(r.Watts), string(r.Grade)})
	}
	p.Table([]string{"replicas", "1/s", a.money("/h"), "peak power", "evidence"}, rows, 0, 4)
	p.Text("Rates are tried in steps of about 3%. The fleet of the answer was simulated whole at " +
		"its rate; the other rates may be lower. A fleet with < serves less than another, and " +
		"no more is known of it.")
}

// WriteFront draws the fleets that were simulated for a front into dir. It draws nothing if there
// are none.
func (a *Answer) WriteFront(dir string) error {
	front := a.Front()
	if len(front) == 0 {
		return nil
	}
	others := plots.Series{Name: "beaten by another"}
	for _, q := range a.Points {
		if !q.Front {
			others.X, others.Y = append(others.X, q.Hourly), append(others.Y, q.Latency)
		}
	}
	byEnergy := slices.Clone(front)
	slices.SortStableFunc(byEnergy, func(a, b Point) int { return cmp.Compare(a.Energy, b.Energy) })
	var series []plots.Series
	for third := range 3 {
		part := byEnergy[third*len(front)/3 : (third+1)*len(front)/3]
		if len(part) == 0 {
			continue
		}
		s := plots.Series{Name: fmt.Sprintf("front, up to %s Wh for 1M tokens",
			report.Figure(part[len(part)-1].Energy))}
		for _, q := range part {
			s.X, s.Y = append(s.X, q.Hourly), append(s.Y, q.Latency)
		}
		series = append(series, s)
	}
	p, err := plots.Cloud("Fleets that keep the SLO", "price of the fleet ("+a.money("/h")+")",
		a.Goal.Measure[:len(a.Goal.Measure)-len("_ms")]+" (ms)", others, series)
	if err != nil {
		return err
	}
	return plots.Save(dir, "front", p)
}

// jobWords says how long a job takes.
func (d *Deployment) jobWords() string {
	words := fmt.Sprintf("The whole job simulated, with steps as predicted, takes %s hours.",
		report.Figure(d.JobHours))
	if d.JobShare < 1 {
		words = fmt.Sprintf("With steps as predicted, the simulated %s of the job take %s hours, "+
			"and so all of it about %.2g.", report.Percent(d.JobShare), report.Figure(d.JobHours),
			d.JobHours/d.JobShare)
	}
	return words
}

func (a *Answer) printJobs(p *report.Printer) {
	var rows [][]string
	for i := range a.Jobs {
		j := &a.Jobs[i]
		if i == 0 {
			p.Text(fmt.Sprintf("%d requests; with slow steps, at the asked confidence by how far "+
				"predictions of such servers were off:", j.Requests))
		}
		rows = append(rows, []string{fmt.Sprintf("%d of %s", j.Replicas, j.Label),
			report.Figure(j.Hours), fmt.Sprintf("%.2f", j.Dollars), report.Figure(j.PerMillion),
			string(j.Grade)})
	}
	p.Table([]string{"replicas", "hours", a.money(""), a.money("/1M tokens"), "evidence"}, rows,
		0, 4)
	if j := a.measuredJob(); j != nil {
		p.Text(fmt.Sprintf("The cheapest option of which a similar server was measured: %s of %s, "+
			"%s, %s hours.", units.Plural(j.Replicas, "replica"), j.Label,
			a.Currency.Cents(j.Dollars), report.Figure(j.Hours)))
	}
}

// measuredJob returns the cheapest fleet of a job that rests on measurements; nil if there is none,
// or if it is the answer.
func (a *Answer) measuredJob() *JobDone {
	i := slices.IndexFunc(a.Jobs, func(j JobDone) bool {
		return j.Grade == evidence.Measured || j.Grade == evidence.Here
	})
	if i <= 0 {
		return nil
	}
	return &a.Jobs[i]
}

// odds says how likely the fleet of the answer is in time.
func (j *JobDone) odds() string {
	share := report.Percent(j.InTime)
	if j.InTime > 1-Certain {
		share = "more than 98%"
	}
	return fmt.Sprintf("Over all errors of predicted step times (%s), it is in time in %s of "+
		"cases.", j.Grade, share)
}
