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
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/report/plots"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Group is what rows have in common whose errors are summed up together.
type Group struct {
	// Engine is the name of the engine preset; empty for kernels and iterations measured without
	// one.
	Engine string `json:"engine,omitempty"`
	// Version is the release of the engine, such as "0.15"; empty where the table does not have it.
	Version string `json:"version,omitempty"`
	// GPU and Model are catalogue names. For single kernels Model is their variant, such as the
	// number format.
	GPU   string `json:"gpu"`
	Model string `json:"model"`
	// DType is the number format of the weights; empty for single kernels.
	DType string `json:"dtype,omitempty"`
	// TP is the tensor parallelism.
	TP int `json:"tp"`
	// Server names what ran on one machine with one build; empty where the table does not say it.
	Server string `json:"server,omitempty"`
}

// Machine names the machines of the group's rows in a table, whose host is their own: all of the
// accelerator, of the table or of one of the sources that it was gathered from.
func (g *Group) Machine(table string) string {
	for _, end := range []string{":", "__"} {
		if source, _, gathered := strings.Cut(g.Server, end); gathered {
			table = source
		}
	}
	return Machine(table, g.GPU)
}

// String names the group in a line.
func (g *Group) String() string {
	model := strings.TrimSpace(g.Model + " " + g.DType)
	return strings.TrimSpace(fmt.Sprintf("%s %s, %s, TP %d %s", g.Engine, g.GPU, model, g.TP,
		g.Server))
}

// Comparison is one predicted figure beside the measured one.
type Comparison struct {
	Group
	// Key is the server's; zero for kernels and steps measured without one.
	Key servers.Key
	// Table is the kind of table, File and Line where the row is.
	Table string
	File  string
	Line  int
	// Load is what the server had to do; zero for kernels and steps measured without one.
	Load evidence.Load
	// Case distinguishes the row from others of its group: load, lengths, batch.
	Case string
	// Quantity is what was measured, in Unit.
	Quantity, Unit      string
	Predicted, Measured float64
	// Fast and Slow are what would be predicted with steps as fast and as slow as in one case of
	// ten each; 0 where that was not simulated.
	Fast, Slow float64
	// Rehearsal returns about what the figure would be under other physics, and whether that is
	// known without a simulation; nil where it never is.
	Rehearsal func(*Physics) (float64, bool)
	// Fit is InFit or LeftOut, or empty if the rows are not marked.
	Fit Fit
}

// Fit says whether the shipped constants are fitted to a row.
type Fit string

// What a row is to the fit.
const (
	InFit   Fit = "in fit"
	LeftOut Fit = "left out"
)

// Error is the relative error, predicted/measured − 1.
func (c *Comparison) Error() float64 { return c.Predicted/c.Measured - 1 }

// Measurement is one measured figure.
type Measurement struct {
	Quantity, Unit string
	Value          float64
}

// Place is where a row stands and what it is about.
type Place struct {
	Group
	File string
	Line int
	Name string // the case
}

// Compare puts the predicted figures beside the measured ones. What was not measured, or not
// predicted, is left out.
func (p *Place) Compare(measured []Measurement, predicted map[string]float64) []Comparison {
	var list []Comparison
	for _, m := range measured {
		value, ok := predicted[m.Quantity]
		if !ok {
			continue
		}
		list = append(list, Comparison{
			Group: p.Group, File: p.File, Line: p.Line, Case: p.Name,
			Quantity: m.Quantity, Unit: m.Unit, Predicted: value, Measured: m.Value,
		})
	}
	return list
}

// One compares one figure.
func (p Place) One(quantity, unit string, measured, predicted float64) []Comparison {
	return p.Compare([]Measurement{{Quantity: quantity, Unit: unit, Value: measured}},
		map[string]float64{quantity: predicted})
}

// WithDrafts says of figures that they are of servers with drafts, which the fit does not take.
const WithDrafts = ", with drafts"

// QuantityFamily is the name of a quantity without the name of a statistic: TTFT for TTFT p99.
func QuantityFamily(quantity string) string {
	quantity = strings.TrimSuffix(quantity, WithDrafts)
	for _, statistic := range []string{" mean", " p50", " p90", " p99"} {
		quantity = strings.TrimSuffix(quantity, statistic)
	}
	return quantity
}

// Rehearse returns about what the figure would be under other physics, and whether that is known
// without a simulation.
func (c *Comparison) Rehearse(p *Physics) (float64, bool) {
	if c.Rehearsal == nil {
		return 0, false
	}
	return c.Rehearsal(p)
}

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

// Accuracy returns the table's rows as a picture shows them: a colour for each quantity, statistics
// of one latency together, or for each GPU where there is one quantity.
func (t *Table) Accuracy() *plots.Accuracy {
	a := &plots.Accuracy{Title: fmt.Sprintf("%s: predicted and measured", t.Name)}
	several := slices.ContainsFunc(t.Rows, func(c Comparison) bool {
		return QuantityFamily(c.Quantity) != QuantityFamily(t.Rows[0].Quantity)
	})
	names, of := grouped(t.Rows, func(c *Comparison) string {
		if several {
			return QuantityFamily(c.Quantity)
		}
		return c.GPU
	})
	for _, name := range names {
		s := plots.AccuracySeries{Name: name}
		for _, c := range of[name] {
			s.Measured = append(s.Measured, c.Measured)
			s.Predicted = append(s.Predicted, c.Predicted)
		}
		a.Series = append(a.Series, s)
	}
	units, _ := grouped(t.Rows, func(c *Comparison) string { return c.Unit })
	a.Unit = strings.Join(units, "; ")
	return a
}
