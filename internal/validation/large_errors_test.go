package validation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// A group of rows of one server is known to deviate from this many rows and this median error on,
// in percent.
const (
	someRows   = 5
	largeError = 30
)

// Every server of the measured tables of which a quantity is far off is on the page of known
// deviations: nothing is wrong in silence.
func TestLargeErrorsAreKnown(t *testing.T) {
	type server struct {
		group           accuracy.Group
		table, quantity string
	}
	groups := map[server][]accuracy.Comparison{}
	for _, c := range measuredReport(t).Rows(func(c *accuracy.Comparison) bool {
		return c.Engine != "" && accuracy.ColumnOf(c) != ""
	}) {
		s := server{c.Group, c.Table, c.Quantity}
		groups[s] = append(groups[s], c)
	}
	known := readDeviations(t)
	for s, rows := range groups {
		all := accuracy.SumUp(rows)
		if len(rows) < someRows || all.Median <= largeError {
			continue
		}
		if !slices.ContainsFunc(known, func(d deviation) bool {
			return d.tables == "measured" && d.chooses(&rows[0])
		}) {
			t.Errorf("not on deviations.md: %s, %s, %s: the median error of %d rows is %.0f %%",
				s.table, fmt.Sprint(s.group), s.quantity, len(rows), all.Median)
		}
	}
}
