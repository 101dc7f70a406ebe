package bench

import (
	"fmt"
	"io"

	"github.com/llmsim/llmsim/internal/report/doc"
)

// layOut returns the results for people. Pairs with another build take the place of the counts.
func layOut(results []Result) doc.Blocks {
	t := doc.Block{Kind: doc.Table, Left: []int{0},
		Header: []string{"case", "CPU s", "µs", "ratio", "goal", "MB"}}
	paired := len(results) > 0 && results[0].Against != nil
	if paired {
		t.Header = append(t.Header, "new/other", "interval")
	} else {
		t.Header = append(t.Header, "steps", "allocs", "bytes")
	}
	for i := range results {
		r := &results[i]
		row := []string{r.Case, fmt.Sprintf("%.2f", r.Seconds),
			fmt.Sprintf("%.2f", r.Microseconds), known(r.Ratio, "%.2f"), known(r.Goal, "%g"),
			known(float64(r.Memory)/1e6, "%.0f")}
		switch c, p := r.Counts, r.Against; {
		case paired:
			row = append(row, fmt.Sprintf("%.3f", p.Ratio),
				fmt.Sprintf("%.3f–%.3f (%.0f%%)", p.From, p.To, 100*p.Confidence))
		case c != nil:
			row = append(row, fmt.Sprintf("%.1f", c.Steps),
				fmt.Sprintf("%.2f", c.Allocations), fmt.Sprintf("%.0f", c.Bytes))
		}
		t.Rows = append(t.Rows, row)
	}
	return doc.Blocks{t}
}

// WriteTable writes the results for a terminal.
func WriteTable(w io.Writer, results []Result) error {
	return doc.Print(w, layOut(results))
}

// WriteMarkdown writes the results as a table for a page.
func WriteMarkdown(w io.Writer, results []Result) error {
	return layOut(results).Markdown(w)
}

// known prints a figure, or nothing where it is 0, which means that it is not known.
func known(x float64, format string) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}
