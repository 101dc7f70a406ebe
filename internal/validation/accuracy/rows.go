package accuracy

import (
	"encoding/csv"
	"io"
	"math"
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

// Quantile returns the q-quantile of sorted values, interpolated between the nearest ranks as NumPy
// does.
func Quantile(sorted []float64, q float64) float64 {
	rank := q * float64(len(sorted)-1)
	below := int(math.Floor(rank))
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (rank-float64(below))*(sorted[above]-sorted[below])
}
