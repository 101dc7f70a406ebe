package accuracy

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes every comparison as a row: what was predicted, what was measured, and the error
// in percent.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"table", "file", "line", "engine", "gpu", "model", "dtype",
		"tensor_parallel", "case", "quantity", "unit", "predicted", "measured", "error_pct"})
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for i := range r.Tables {
		for _, c := range r.Tables[i].Rows {
			out.Write([]string{
				c.Table, c.File, strconv.Itoa(c.Line), c.Engine, c.GPU, c.Model, c.DType,
				strconv.Itoa(c.TP), c.Case, c.Quantity, c.Unit,
				exact(c.Predicted), exact(c.Measured), exact(100 * c.Error()),
			})
		}
	}
	out.Flush()
	return out.Error()
}
