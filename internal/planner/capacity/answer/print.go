//go:build !js

package answer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
)

// Write prints the answers for people, in 80 columns: in brief, on a page of mostLines lines, or
// whole. A short page of more models than it has room for is a table of them.
func (a *Answers) Write(out io.Writer, level Level) error {
	var p doc.Blocks
	foot := a.foot(level)
	several, left := len(a.Models) > 1, mostLines-foot.Lines()
	for i, answer := range a.Models {
		if i > 0 {
			p.Gap()
			left--
		}
		most := unlimited
		if rest := len(a.Models) - i; level == Short {
			most = (left - rest + 1) / rest
		}
		list, lines := answer.page(level, several).blocks(most)
		p = append(p, list...)
		left -= lines
	}
	if level == Short && several && left < 0 {
		p = a.table()
	}
	return doc.Print(out, slices.Concat(p, foot))
}

// foot says what the fleets cost together, and where there is more to read.
func (a *Answers) foot(level Level) (p doc.Blocks) {
	if len(a.Models) > 1 {
		p.Gap()
		p.Text(fmt.Sprintf("Together: %s, %s an hour.",
			units.Plural(a.Accelerators, "accelerator"), a.Currency.Cents(a.Hourly)))
		of := "classes"
		if d := a.Divided; d != nil {
			of = "prompts"
			p.Text(fmt.Sprintf("As one fleet whose pools take prompts by their length, with slow "+
				"steps, %s of %s requests meet the SLO, the least of %d seeds.",
				units.Percent(d.Kept), units.Count(d.Requests), d.Seeds))
		}
		if one := a.Models[0].ClassesTogether; one > 0 {
			p.Text(fmt.Sprintf("One fleet for all %s would cost %s an hour.", of,
				a.Currency.Cents(one)))
		}
	}
	if level == Short {
		words := "More: --details, or report.html of --out DIR."
		if slices.ContainsFunc(a.Models, (*Answer).pricesDiffer) {
			words = "Prices are of several sources. " + words
		}
		p.Text(words)
	}
	return p
}

// table returns a line for each answer, and which predictions are known to be off.
func (a *Answers) table() (p doc.Blocks) {
	var rows [][]string
	off := false
	for i, m := range a.Models {
		name := cmp.Or(m.Name, fmt.Sprint(i+1))
		d := m.Chosen
		if d == nil {
			rows = append(rows, []string{name, "none", "–", "–"})
			continue
		}
		sure, mark := "–", ""
		if own := d.chance(); own.Decides() {
			sure = percentChance(own.Probability)
		}
		if m.KnownOff != nil {
			mark, off = "*", true
		}
		rows = append(rows, []string{name, strings.TrimPrefix(d.heading(m.Spare), "Answer: "),
			a.Currency.Cents(d.Hourly), sure + mark})
	}
	p.Table([]string{"for", "answer", "an hour", "SLO kept"}, rows, 0, 1)
	if off {
		p.Text("* predictions of such servers are known to be off; --details says how.")
	}
	return p
}
