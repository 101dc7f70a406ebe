package compare

import (
	"fmt"
	"io"

	"github.com/llmsim/llmsim/internal/report/page"
)

// WritePage writes the comparison as a page: the differences with their intervals, then a run of
// each variant.
func (c *Comparison) WritePage(out io.Writer) error {
	first := &c.Variants[0]
	p := page.Comparison{Title: first.Label + " and what changes", Basis: c.basis(), Runs: c.runs}
	if len(c.Variants) == 2 {
		p.Title = c.Variants[1].Label + " against " + first.Label
	} else if len(c.Variants) > 2 {
		p.Title = fmt.Sprintf("%s against %d others", first.Label, len(c.Variants)-1)
	}
	for i := 1; i < len(c.Variants); i++ {
		p.Versus = append(p.Versus, c.versus(&c.Variants[i]))
	}
	return page.WriteComparison(out, &p)
}

// versus returns the differences of a variant from the first, as a table.
func (c *Comparison) versus(v *Outcome) page.Versus {
	first := &c.Variants[0]
	versus := page.Versus{Title: v.Label + " against " + first.Label}
	for _, change := range v.Changes {
		versus.Changes = append(versus.Changes, change.String())
	}
	versus.Table.Header = []string{"", first.Label, v.Label, "difference", "in 80% of cases", ""}
	for i := range v.Figures {
		f, base := &v.Figures[i], first.Figures[i].Value.Mean
		versus.Table.Rows = append(versus.Table.Rows, []string{
			f.Title, amount(base, f.Unit), amount(f.Value.Mean, f.Unit), f.difference(base),
			f.span(base), f.verdict(),
		})
	}
	add := func(what, first, this string) {
		versus.Table.Rows = append(versus.Table.Rows, []string{what, first, this, "", "", ""})
	}
	add("SLO", first.slo(), v.slo())
	add("limit that binds", first.Binds, v.Binds)
	add("evidence", string(first.Evidence.Grade), string(v.Evidence.Grade))
	return versus
}
