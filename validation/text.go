package validation

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteText prints the report for people.
func (r *Report) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	for i := range r.Tables {
		r.Tables[i].writeText(b)
	}
	writeList(b, "Not read:", r.Ignored)
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "%s (%s)\n", t.Name, files(t.Files))
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "quantity\tn\tmedian\tmean\tbias\tworst\t")
	for _, s := range t.Quantities() {
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\t\n", s.Quantity, s.N, percent(s.Median), percent(s.Mean), signed(s.Bias), signed(s.Worst.Error()))
	}
	for _, g := range t.Groups() {
		fmt.Fprintf(tw, "%s\t\t\t\t\t\t\n", strings.TrimSpace(fmt.Sprintf("%s %s %s TP%d", g.Engine, g.GPU, g.Model, g.TP)))
		for _, s := range g.Quantities {
			fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\t\n", s.Quantity, s.N, percent(s.Median), percent(s.Mean), signed(s.Bias), signed(s.Worst.Error()))
		}
	}
	tw.Flush()
	var notes []string
	for _, reason := range slices.Sorted(maps.Keys(t.Skipped)) {
		notes = append(notes, fmt.Sprintf("%d rows: %s", t.Skipped[reason], reason))
	}
	writeList(b, "Left out:", notes)
	writeList(b, "Malformed:", t.Problems)
	b.WriteByte('\n')
}

func writeList(b *strings.Builder, title string, list []string) {
	if len(list) > 0 {
		fmt.Fprintln(b, title)
	}
	for _, s := range list {
		fmt.Fprintln(b, "  "+s)
	}
}

func files(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%d files", len(list))
	}
	return strings.Join(list, ", ")
}

func percent(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*x)
}

func signed(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }
