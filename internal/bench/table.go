package bench

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// layOut returns the results for people. Pairs with another build take the place of the counts.
func layOut(results []Result) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = " ", " "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	header := table.Row{"case", "CPU s", "µs", "ratio", "goal", "MB"}
	paired := len(results) > 0 && results[0].Against != nil
	if paired {
		header = append(header, "new/other", "interval")
	} else {
		header = append(header, "steps", "allocs", "bytes")
	}
	t.AppendHeader(header)
	var config []table.ColumnConfig
	for i := 1; i < len(header); i++ {
		config = append(config, table.ColumnConfig{Number: i + 1, Align: text.AlignRight,
			AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(config)
	for i := range results {
		r := &results[i]
		row := table.Row{r.Case, fmt.Sprintf("%.2f", r.Seconds),
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
		t.AppendRow(row)
	}
	return t
}

// WriteTable writes the results for a terminal.
func WriteTable(w io.Writer, results []Result) error {
	_, err := fmt.Fprintln(w, layOut(results).Render())
	return err
}

// WriteMarkdown writes the results as a table for a page.
func WriteMarkdown(w io.Writer, results []Result) error {
	_, err := fmt.Fprintln(w, layOut(results).RenderMarkdown())
	return err
}

// known prints a figure, or nothing where it is 0, which means that it is not known.
func known(x float64, format string) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}
