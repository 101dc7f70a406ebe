// Package accuracy judges predictions beside measurements. A Comparison is a predicted figure
// beside the measured one, of a Place, and rests on Physics. A Report has the rows of all tables;
// its methods sum them up by table and by group, hold them to goals and recorded errors, and say
// how often the ranges of results hold what was measured.
package accuracy

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/report/plots"
)

// Report is predictions beside measurements, row by row.
type Report struct {
	Tables []Table
	// Ignored says of each file that was not read why.
	Ignored []string
}

// Table is the rows of all files of one kind.
type Table struct {
	Name  string
	Files []string
	Rows  []Comparison
	// Sources are what the tables name as such.
	Sources []string
	// Problems are malformed rows, by file and line. Skipped counts rows that are left out, by
	// reason.
	Problems []string
	Skipped  map[string]int
}

// All yields every row of the report.
func (r *Report) All() iter.Seq[*Comparison] {
	return func(yield func(*Comparison) bool) {
		for i := range r.Tables {
			for j := range r.Tables[i].Rows {
				if !yield(&r.Tables[i].Rows[j]) {
					return
				}
			}
		}
	}
}

// Rows returns the rows that a filter chooses.
func (r *Report) Rows(chooses func(*Comparison) bool) []Comparison {
	var list []Comparison
	for c := range r.All() {
		if chooses(c) {
			list = append(list, *c)
		}
	}
	return list
}

// WriteCSV writes every comparison as a row: what was predicted, what was measured, and the error
// in percent.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"table", "file", "line", "engine", "gpu", "model", "dtype",
		"tensor_parallel", "case", "quantity", "unit", "predicted", "measured", "error_pct"})
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for c := range r.All() {
		out.Write([]string{c.Table, c.File, strconv.Itoa(c.Line), c.Engine, c.GPU, c.Model, c.DType,
			strconv.Itoa(c.TP), c.Case, c.Quantity, c.Unit, exact(c.Predicted), exact(c.Measured),
			exact(100 * c.Error())})
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
