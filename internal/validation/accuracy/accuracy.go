package accuracy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/plots"
)

// Accuracy returns the table's rows as a picture shows them: a colour for each quantity, statistics
// of one latency together, or for each GPU where there is one quantity.
func (t *Table) Accuracy() *plots.Accuracy {
	a := &plots.Accuracy{Title: fmt.Sprintf("%s: predicted and measured", t.Name)}
	several := slices.ContainsFunc(t.Rows, func(c Comparison) bool {
		return QuantityFamily(c.Quantity) != QuantityFamily(t.Rows[0].Quantity)
	})
	var units []string
	for i := range t.Rows {
		c := &t.Rows[i]
		name := c.GPU
		if several {
			name = QuantityFamily(c.Quantity)
		}
		if !slices.Contains(units, c.Unit) {
			units = append(units, c.Unit)
		}
		j := slices.IndexFunc(a.Series, func(s plots.AccuracySeries) bool { return s.Name == name })
		if j < 0 {
			j = len(a.Series)
			a.Series = append(a.Series, plots.AccuracySeries{Name: name})
		}
		s := &a.Series[j]
		s.Measured, s.Predicted = append(s.Measured, c.Measured), append(s.Predicted, c.Predicted)
	}
	a.Unit = strings.Join(units, "; ")
	return a
}
