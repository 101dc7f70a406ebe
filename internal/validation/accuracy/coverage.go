package accuracy

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/models"
)

// ColumnOf returns the column of the page that a figure of a whole server is in, or "".
func ColumnOf(c *Comparison) string {
	switch c.Quantity {
	case "output rate", "capacity", "tokens a node":
		return "rate"
	}
	name, _ := latency(c)
	return name
}

// WriteCoverage writes a page, in Markdown, that lists engines, accelerators, model families and
// number formats: how many served rows of each were compared, with what median absolute error.
func (r *Report) WriteCoverage(w io.Writer) error {
	known, err := models.Load()
	if err != nil {
		return err
	}
	family := func(model string) string {
		if m, err := known.Lookup(model); err == nil && m.Family != "" {
			return m.Family
		}
		return model
	}
	type covered struct{ gpu, engine, family, dtype string }
	rows := r.Rows(func(c *Comparison) bool { return c.Engine != "" && ColumnOf(c) != "" })
	keys, of := grouped(rows, func(c *Comparison) covered {
		return covered{c.GPU, c.Engine, family(c.Model), c.DType}
	})
	b := &strings.Builder{}
	fmt.Fprint(b, coverageIntroduction)
	var above covered
	slices.SortFunc(keys, func(a, b covered) int {
		return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.engine, b.engine),
			cmp.Compare(a.family, b.family), cmp.Compare(a.dtype, b.dtype))
	})
	for _, key := range keys {
		_, errors := grouped(of[key], ColumnOf)
		gpu, engine := key.gpu, key.engine
		if gpu == above.gpu {
			gpu = ""
			if engine == above.engine {
				engine = ""
			}
		}
		above = key
		fmt.Fprintf(b, "| %s | %s | %s | %s |", gpu, engine, key.family, key.dtype)
		for _, column := range []string{"TPOT", "TTFT", "rate"} {
			fmt.Fprintf(b, " %s |", cell(errors[column]))
		}
		b.WriteByte('\n')
	}
	_, err = io.WriteString(w, b.String())
	return err
}

const coverageIntroduction = `# What was measured

Served rows by accelerator, engine preset, model family and number format of the weights; an empty
name is that of the row above. A cell has the number of measured figures that predictions were
compared with, and the median absolute error in percent. TPOT counts decode rates too, TTFT prompts,
"rate" the throughput of whole servers. The shipped constants were fitted to some of these rows. Of
what is not on this page, such as servers on other accelerators, nothing was measured.

` + "`llmsim validate DIR --out errors`" + ` writes this page as coverage.md, from the tables in DIR.

| accelerator | engine | family | format | TPOT | TTFT | rate |
|---|---|---|---|---|---|---|
`

// cell is the number of rows and their median error in percent.
func cell(rows []Comparison) string {
	if len(rows) == 0 {
		return ""
	}
	return fmt.Sprintf("%d: %.0f", len(rows), SumUp(rows).Median)
}
