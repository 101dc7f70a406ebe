package validation

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/models/steptime"
)

// covered is what was measured of one engine on one accelerator with models of one family in one
// number format.
type covered struct{ engine, gpu, family, dtype string }

// served returns the column of the page that a figure of a whole server is in, or "".
func (c *Comparison) served() string {
	switch c.Quantity {
	case "output rate", "capacity", "tokens a node":
		return "rate"
	}
	name, _ := latency(c)
	return name
}

var coverageColumns = []string{"TPOT", "TTFT", "rate"}

// WriteCoverage writes a page, in Markdown, that lists engines, accelerators, model families and
// number formats: how many served rows of each were compared, with what median absolute error, and
// which have no row.
func (r *Report) WriteCoverage(w io.Writer) error {
	c, err := loadCatalogs()
	if err != nil {
		return err
	}
	family := func(model string) string {
		if m, err := c.models.Lookup(model); err == nil && m.Family != "" {
			return m.Family
		}
		return model
	}
	errors := map[covered]map[string][]float64{}
	for _, row := range r.rows(func(c *Comparison) bool {
		return c.Engine != "" && c.served() != ""
	}) {
		key := covered{row.Engine, row.GPU, family(row.Model), row.DType}
		if errors[key] == nil {
			errors[key] = map[string][]float64{}
		}
		column := row.served()
		errors[key][column] = append(errors[key][column], 100*math.Abs(row.Error()))
	}
	b := &strings.Builder{}
	fmt.Fprint(b, coverageIntroduction)
	for _, key := range slices.SortedFunc(maps.Keys(errors), compareCovered) {
		fmt.Fprintf(b, "| %s | %s | %s | %s |", key.engine, key.gpu, key.family, key.dtype)
		for _, column := range coverageColumns {
			fmt.Fprintf(b, " %s |", cell(errors[key][column]))
		}
		b.WriteByte('\n')
	}
	writeMatrix(b, c, errors)
	_, err = io.WriteString(w, b.String())
	return err
}

const coverageIntroduction = `# What was measured

Served rows by engine preset, accelerator, model family and number format of the weights: how many measured figures
predictions were compared with, and the median absolute error. TPOT counts decode rates too, TTFT prompts, "rate" the
throughput of whole servers. The shipped constants were fitted to some of these rows; the goals that
` + "`llmsim validate DIR`" + ` prints have the errors on rows left out. What is not on this page was not measured: there
predictions rest on the relatives of an accelerator, an engine or a model, and nothing is known of their error.

` + "`llmsim validate DIR --out errors`" + ` writes this page as coverage.md, from the tables in DIR.

| engine | accelerator | family | format | TPOT | TTFT | rate |
|---|---|---|---|---|---|---|
`

func compareCovered(a, b covered) int {
	return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.gpu, b.gpu),
		cmp.Compare(a.family, b.family), cmp.Compare(a.dtype, b.dtype))
}

// cell is the number of rows and their median error.
func cell(errors []float64) string {
	if len(errors) == 0 {
		return "–"
	}
	slices.Sort(errors)
	return fmt.Sprintf("%d: %.0f %%", len(errors), quantile(errors, 0.5))
}

// writeMatrix counts the measured figures of each accelerator under each engine, and names the
// accelerators that have none.
func writeMatrix(b *strings.Builder, c *catalogs, errors map[covered]map[string][]float64) {
	type server struct{ engine, gpu string }
	figures := map[server]int{}
	for key, columns := range errors {
		for _, list := range columns {
			figures[server{key.engine, key.gpu}] += len(list)
		}
	}
	var engines []string
	for _, e := range steptime.Engines() {
		if !e.Roofline {
			engines = append(engines, e.Name)
		}
	}
	fmt.Fprint(b, "\n## By accelerator\n\nHow many figures of each accelerator were compared "+
		"under each engine; – where none was measured.\n\n")
	fmt.Fprintf(b, "| | %s |\n|---%s|\n", strings.Join(engines, " | "),
		strings.Repeat("|---", len(engines)))
	var none []string
	for i := range c.hardware.Accelerators {
		name := c.hardware.Accelerators[i].Name
		row, all := "| "+name+" |", 0
		for _, engine := range engines {
			n := figures[server{engine, name}]
			all += n
			row += " " + cmp.Or(strings.TrimPrefix(fmt.Sprint(n), "0"), "–") + " |"
		}
		if all == 0 {
			none = append(none, name)
			continue
		}
		fmt.Fprintln(b, row)
	}
	fmt.Fprintf(b, "\nNo server on %s was measured.\n", strings.Join(none, ", "))
}
