package validation

import "github.com/llmsim/llmsim/internal/validation/accuracy"

// Mark notes of each row of a report whether it is among the measurements in d, and of a quantity
// that counts in the fit.
func (d *Data) Mark(r *accuracy.Report, counts func(table, quantity string) bool) {
	type row struct {
		file string
		line int
	}
	in := map[row]bool{}
	for i := range d.tables {
		for _, e := range d.tables[i].experiments {
			at := e.at()
			in[row{at.File, at.Line}] = true
		}
	}
	for i := range r.Tables {
		for j := range r.Tables[i].Rows {
			c := &r.Tables[i].Rows[j]
			if c.Fit = accuracy.LeftOut; in[row{c.File, c.Line}] && counts(c.Table, c.Quantity) {
				c.Fit = accuracy.InFit
			}
		}
	}
}
