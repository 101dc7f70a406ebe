//go:build !js

package answer

import (
	"fmt"
	"io"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
)

// Write prints the answers for people, in 80 columns: in brief, on a page of mostLines lines, or
// whole. Of five models and more, or three with long answers, a short page may take more lines.
func (a *Answers) Write(out io.Writer, level Level) error {
	var p doc.Blocks
	several, left := len(a.Models) > 1, mostLines-1
	if several {
		left -= 2
	}
	differ := false
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
		differ = differ || answer.pricesDiffer()
	}
	if several {
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
		if differ {
			words = "Prices are of several sources. " + words
		}
		p.Text(words)
	}
	return doc.Print(out, p)
}
