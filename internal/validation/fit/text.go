package fit

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// WriteText prints the result for people, 100 columns wide.
func (r *Result) WriteText(w io.Writer) error {
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "Fitted to %d measured figures. Constants with ± are determined by them; "+
		"others are kept.\nOf %d constants the rows determine %.1f, counting each by the share of "+
		"its variance that they\ntake away.\n", r.Rows, len(r.Constants), r.Effective)
	subject := ""
	for i := range r.Constants {
		c := &r.Constants[i]
		if s := c.Scope + " " + c.Of; s != subject {
			subject = s
			fmt.Fprintf(b, "\n%s\n  %-28s %12s %12s\n", s, "constant", "shipped", "fitted")
		}
		if c.Kept {
			fmt.Fprintf(b, "  %-28s %12s %12s\n", c.Name, c.format(c.Shipped), "kept")
		} else {
			fmt.Fprintf(b, "  %-28s %12s %12s  ±%.0f %%\n", c.Name, c.format(c.Shipped),
				c.format(c.Fitted), 100*c.Deviation)
		}
	}
	fmt.Fprintf(b, "\nMedian absolute error, in percent. Ratio is the larger error left out over "+
		"the fitted one;\nabove %g (*), constants describe the servers more than the machines.\n",
		mostRatio)
	fmt.Fprintf(b, "  %-20s %-21s %5s %7s %6s %14s %7s %9s  %s\n", "", "", "", "", "", "left out:",
		"", "", "")
	fmt.Fprintf(b, "  %-20s %-21s %5s %7s %6s %7s %6s %7s %9s  %s\n", "table", "quantity", "rows",
		"shipped", "fitted", "model", "GPU", "ratio", "at most", "best other simulator")
	for i := range r.Errors {
		r.Errors[i].write(b)
	}
	b.WriteByte('\n')
	accuracy.WriteGoals(b, r.Goals)
	_, err := w.Write(b.Bytes())
	return err
}

func (e *Error) write(b *bytes.Buffer) {
	most := "–"
	if e.AtMost > 0 {
		most = fmt.Sprintf("%g", e.AtMost)
	}
	name := strings.TrimSpace(e.Quantity + " " + e.Engine + e.Model)
	ratio := "–"
	if e.Ratio > 0 {
		ratio = fmt.Sprintf("%.2f", e.Ratio)
	}
	if e.Ratio > mostRatio {
		ratio += "*"
	}
	fmt.Fprintf(b, "  %-20s %-21s %5d %7.1f %6.1f %7s %6s %7s %9s  %s\n", e.Table, name, e.N,
		e.Shipped, e.Fitted, percent(e.WithoutModel), percent(e.WithoutAccelerator), ratio, most,
		e.Peer)
}

// writeErrors writes errors.md of internal/validation.
func (r *Result) writeErrors(w io.Writer) error {
	b := &bytes.Buffer{}
	large := 0
	for i := range r.Errors {
		if r.Errors[i].Ratio > mostRatio {
			large++
		}
	}
	fmt.Fprintf(b, errorsIntroduction, mostRatio, large, len(r.Errors))
	for i := range r.Errors {
		e := &r.Errors[i]
		mark := ""
		if e.Ratio > mostRatio {
			mark = "*"
		}
		fmt.Fprintf(b, "| %s | %s | %d | %.1f | %.1f%s | %s | %s |\n", e.Table,
			strings.TrimSpace(e.Quantity+" "+e.Engine+e.Model), e.N, e.Shipped, e.Fitted, mark,
			percent(e.WithoutModel), percent(e.WithoutAccelerator))
	}
	_, err := w.Write(b.Bytes())
	return err
}

const errorsIntroduction = `# Errors in the fit and left out of it

Median absolute errors in percent of each quantity that constants are fitted to: before the fit,
with the constants that it found, with constants fitted without any row of the same model, and
without any row of the same GPU, which then borrows from its nearest relative. "–" where nothing
else was measured on that engine. The fit writes this page.

A star marks quantities whose larger error left out is over %g times the fitted one, so that
constants describe the servers more than the machines: %d of %d quantities.

| table | quantity | rows | before | fitted | model left out | GPU left out |
|---|---|---|---|---|---|---|
`

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", *v)
}

// format writes a value with its unit.
func (c *Constant) format(v float64) string {
	switch {
	case c.Time:
		return units.FormatDuration(significant(v))
	case v > 1e6:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprint(significant(v))
}

// significant rounds to three significant digits.
func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*unit) / unit
}
