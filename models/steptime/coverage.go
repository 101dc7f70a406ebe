package steptime

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/models"
)

// findTables looks up the measured times of the model's products.
func (c *Clock) findTables() {
	c.productTables = map[*models.Linear]curve{}
	for i := range c.linear {
		l := &c.linear[i]
		c.productTables[l] = c.tables.product(c.formatOf(l), l.N, l.K)
	}
}

// coverage lists the operators of the model that the tables do not have, and that formulas predict.
func (c *Clock) coverage() []string {
	var missing []string
	for i := range c.linear {
		l := &c.linear[i]
		switch {
		case l.Rows == models.RoutedRows:
			if len(c.tables.experts[c.expertsKey()]) == 0 {
				missing = append(missing, l.Name)
			}
		case len(c.productTables[l]) == 0:
			missing = append(missing, fmt.Sprintf("%s (n=%d k=%d)", l.Name, l.N, l.K))
		}
	}
	if len(c.tables.prefill[c.attentionKey()]) == 0 {
		missing = append(missing, "prefill attention")
	}
	if len(c.tables.decoding[c.attentionKey()]) == 0 || len(c.attention) > 1 ||
		c.attention[0].Window > 0 {
		missing = append(missing, "decode attention")
	}
	if tp := c.cfg.Parallel.Tensor; tp > 1 && !c.tables.reduces(tp) {
		missing = append(missing, "all-reduce")
	}
	var warnings []string
	if len(missing) > 0 {
		warnings = append(warnings, "not in the operator tables, so by formula: "+
			strings.Join(missing, ", "))
	}
	var sources []string
	for _, from := range slices.Sorted(maps.Keys(c.tables.read)) {
		sources = append(sources, strings.Join(c.tables.read[from], ", ")+" of "+from)
	}
	if len(sources) > 0 {
		warnings = append(warnings, "operator tables: "+strings.Join(sources, "; "))
	}
	if len(c.tables.skipped) > 0 {
		warnings = append(warnings, "operator tables that were not read: "+
			strings.Join(c.tables.skipped, ", "))
	}
	return append(warnings, c.tables.notes...)
}

// Outside describes the steps so far for which operator tables did not reach, so that formulas were
// used. It returns nil if the tables covered all steps.
func (c *Clock) Outside() []string {
	var list []string
	all := c.allOutside()
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		e := all[key]
		many := fmt.Sprintf("some of %.0f to %.0f %s", e.least, e.most, key[1])
		// a leap asks for the first of its steps, so the largest context follows from how steps are
		// taken
		if e.least == e.most || key[1] == contextTokens {
			many = fmt.Sprintf("%.0f %s", e.least, key[1])
		}
		list = append(list, fmt.Sprintf("%s: %s are not in the operator table, so by formula",
			key[0], many))
	}
	return list
}
