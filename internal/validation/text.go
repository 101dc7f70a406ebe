package validation

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
)

// WriteText prints the summary for people, 100 columns wide.
func (s *Summary) WriteText(w io.Writer) error {
	b := &bytes.Buffer{}
	for i := range s.Tables {
		s.Tables[i].writeText(b)
	}
	writeTargets(b, s.Targets)
	WriteGoals(b, s.Goals)
	writeReliability(b, s.Reliability, s.Held)
	writeList(b, "Files that were not read:", s.Ignored)
	_, err := w.Write(b.Bytes())
	return err
}

// fewRows is the number of comparisons up to which a table is printed row by row.
const fewRows = 40

func (t *TableSummary) writeText(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s: %s\n", t.Name, files(t.Files))
	if len(t.Quantities) > 0 {
		fmt.Fprintf(b, "  %-22s %6s %8s %8s %8s %9s  %s\n", "error of", "rows", "median", "mean",
			"bias", "worst", "in row")
		writeStatistics(b, t.Quantities, len(t.Files) > 1)
	}
	if len(t.rows) <= fewRows {
		writeRows(b, t.rows)
	} else {
		for i := range t.Groups {
			fmt.Fprintf(b, "  %s\n", &t.Groups[i].Group)
			writeStatistics(b, t.Groups[i].Quantities, len(t.Files) > 1)
		}
	}
	var skipped []string
	for _, k := range t.Skipped {
		skipped = append(skipped, fmt.Sprintf("%d × %s", k.Rows, k.Reason))
	}
	writeList(b, "  Rows left out:", skipped)
	writeList(b, "  Malformed rows:", t.Problems)
	writeList(b, "  Sources:", t.Sources)
	b.WriteByte('\n')
}

// writeRows prints every comparison under the name of its group.
func writeRows(b *bytes.Buffer, rows []Comparison) {
	if len(rows) > 0 {
		fmt.Fprintf(b, "  %-40s %-12s %10s %10s\n", "", "", "measured", "predicted")
	}
	var group Group
	for i := range rows {
		c := &rows[i]
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(b, "  %s\n", &group)
		}
		fmt.Fprintf(b, "    %-38s %-12s %10s %10s %-8s %+6.1f %%\n", c.Case, c.Quantity,
			number(c.Measured), number(c.Predicted), c.Unit, 100*c.Error())
	}
}

// number prints four digits, and whole numbers above them.
func number(x float64) string {
	if x >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

func writeStatistics(b *bytes.Buffer, list []Statistics, nameFile bool) {
	for i := range list {
		s := &list[i]
		row := fmt.Sprintf("line %d", s.Worst.Line)
		if nameFile {
			row = fmt.Sprintf("%s:%d", strings.TrimSuffix(path.Base(s.Worst.File), ".csv"),
				s.Worst.Line)
		}
		name := s.Quantity
		if s.Fit != "" {
			name += ", " + string(s.Fit)
		}
		fmt.Fprintf(b, "    %-20s %6d %6.1f %% %6.1f %% %+6.1f %% %+7.1f %%  %s\n", name, s.N,
			s.Median, s.Mean, s.Bias, s.Worst.Error, row)
	}
}

// String names the group in a line.
func (g *Group) String() string {
	model := strings.TrimSpace(g.Model + " " + g.DType)
	return strings.TrimSpace(fmt.Sprintf("%s %s, %s, TP %d", g.Engine, g.GPU, model, g.TP))
}

func writeTargets(b *bytes.Buffer, list []TargetResult) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(b, "Targets: median absolute error of the rows above, those that constants were "+
		"fitted to among them")
	fmt.Fprintf(b, "  %-19s %-20s %5s %8s %9s     %s\n", "table", "quantity", "rows", "ours",
		"at most", "best other simulator")
	for i := range list {
		r := &list[i]
		verdict := "✓"
		if !r.Met {
			verdict = "✗"
		}
		fmt.Fprintf(b, "  %-19s %-20s %5d %6.1f %% %7g %% %s  %s\n", r.Table, r.subject(), r.N,
			r.Median, r.AtMost, verdict, r.Peer)
	}
	b.WriteByte('\n')
}

// subject names the quantity and the rows of a target.
func (t *Target) subject() string {
	return strings.TrimSpace(t.Quantity + " " + t.Engine + t.Model)
}

func writeList(b *bytes.Buffer, title string, list []string) {
	if len(list) > 0 {
		fmt.Fprintln(b, title)
	}
	for _, s := range list {
		fmt.Fprintln(b, "    "+s)
	}
}

// files names the files of a table, as far as a line holds them.
func files(list []string) string {
	if len(list) > 2 {
		return fmt.Sprintf("%d files, %s to %s", len(list), path.Base(list[0]),
			path.Base(list[len(list)-1]))
	}
	return strings.Join(list, ", ")
}
