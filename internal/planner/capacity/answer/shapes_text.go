package answer

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// printShapes prints the ranking, and the limit of each shape below it.
func (a *Answer) printShapes(p *report.Printer) {
	var rows [][]string
	apart, unsized := false, false
	for i := range a.Shapes {
		s := &a.Shapes[i]
		apart = apart || !plainShape(s.Shape)
		row := []string{s.Shape, "–", "–", "–", "–", "–", string(s.Grade)}
		if s.KVTokens > 0 {
			row[1] = report.Figure(float64(s.KVTokens) / 1000)
		}
		if s.Rate > 0 {
			row[2] = report.Figure(s.Rate)
		}
		if unsized = unsized || s.Replicas == 0; s.Replicas > 0 {
			row[3] = fmt.Sprint(s.Replicas)
			if s.Fewest > 0 {
				row[3] = fmt.Sprintf("%d–%d", s.Fewest, s.Replicas)
			}
			row[4] = report.Figure(s.Hourly)
		}
		if s.PerMillion > 0 {
			row[5] = report.Figure(s.PerMillion)
		}
		rows = append(rows, row)
	}
	p.Table([]string{"replica", "KV ktok", "1/s each", "replicas", a.money("/h"), a.money("/1M"),
		"evidence"}, rows, 0, 6)
	if unsized {
		p.Text("A row without replicas: no fleet of them that keeps the SLO was simulated.")
	}
	if a.FurtherShapes > 0 {
		p.Text(fmt.Sprintf("%d more kinds of replicas are farther from being chosen.",
			a.FurtherShapes))
	}
	if apart {
		p.Text("xP+yD: a group of x replicas that compute prompts and y replicas that decode; " +
			"all other replicas do both.")
	}
	if b := a.BestMeasured; b != nil {
		words := "The cheapest fleet above of which a similar server was measured"
		if b.Grade != evidence.Measured {
			words = fmt.Sprintf("No fleet above was measured. The cheapest with better "+
				"evidence (%s)",
				b.Grade)
		}
		p.Text(fmt.Sprintf("%s: %s of %s, %s an hour.", words,
			units.Plural(b.Replicas, "replica"), b.Label, a.Currency.Cents(b.Hourly)))
	}
	a.printAlone(p)
	a.printTightest(p)
	p.Gap()
	p.Text("What limits each:")
	for i := range a.Shapes {
		s := &a.Shapes[i]
		label := s.Shape
		if s.Label != s.Shape {
			label = s.Label
		}
		p.Item(label + ": " + s.Limit)
	}
}

// printTightest says where the fewest accelerators that hold the model serve much less, each, than
// more of them together.
func (a *Answer) printTightest(p *report.Printer) {
	const much = 1.1
	tightest, best := map[string]*Shape{}, map[string]*Shape{}
	var names []string
	each := func(s *Shape) float64 { return s.Rate / float64(s.GPUs) }
	for i := range a.Shapes {
		s := &a.Shapes[i]
		if s.Rate == 0 || !plainShape(s.Shape) {
			continue
		}
		t := tightest[s.Accelerator]
		if t == nil {
			names = append(names, s.Accelerator)
		}
		if t == nil || s.GPUs < t.GPUs {
			tightest[s.Accelerator] = s
		}
		if b := best[s.Accelerator]; b == nil || each(s) > each(b) {
			best[s.Accelerator] = s
		}
	}
	for _, name := range names {
		if t, b := tightest[name], best[name]; each(b) > much*each(t) {
			holds := "hold the model, and leave"
			if t.GPUs == 1 {
				holds = "holds the model, and leaves"
			}
			p.Text(fmt.Sprintf(
				"%s %s KV memory for %s tokens: %s requests a second for each GPU. %s hold %s "+
					"tokens, and serve %s for each.",
				t.Shape, holds, report.Figure(float64(t.KVTokens)), report.Figure(each(t)), b.Shape,
				report.Figure(float64(b.KVTokens)), report.Figure(each(b))))
		}
	}
}
