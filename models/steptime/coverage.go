package steptime

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/models"
)

// coverage tells which operators of the model the tables do not have, and are predicted by formula.
func (c *Clock) coverage() []string {
	var missing []string
	for i := range c.linear {
		l := &c.linear[i]
		switch {
		case l.Rows == models.RoutedRows:
			if len(c.tables.experts[c.expertsKey()]) == 0 {
				missing = append(missing, l.Name)
			}
		case len(c.tables.products[productKey{sixteen(c.format(l)), l.N, l.K}]) == 0:
			missing = append(missing, fmt.Sprintf("%s (n=%d k=%d)", l.Name, l.N, l.K))
		}
	}
	if len(c.tables.prefill[c.attentionKey()]) == 0 {
		missing = append(missing, "prefill attention")
	}
	if len(c.tables.decoding[c.attentionKey()]) == 0 || len(c.attention) > 1 || c.attention[0].Window > 0 {
		missing = append(missing, "decode attention")
	}
	if tp := c.cfg.Parallel.Tensor; tp > 1 && len(c.tables.allReduce[tp]) == 0 {
		missing = append(missing, "all-reduce")
	}
	warnings := []string{"operator tables hold within what was measured; outside of it formulas do"}
	if len(missing) > 0 {
		warnings = append(warnings, "not in the operator tables, so by formula: "+strings.Join(missing, ", "))
	}
	if len(c.tables.skipped) > 0 {
		warnings = append(warnings, "operator tables that were not read: "+strings.Join(c.tables.skipped, ", "))
	}
	return warnings
}
