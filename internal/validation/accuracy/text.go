package accuracy

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteText prints the summary for people, 80 columns wide.
func (s *Summary) WriteText(w io.Writer) error {
	b := &bytes.Buffer{}
	for i := range s.Tables {
		s.Tables[i].writeText(b)
	}
	writeTargets(b, s.Targets)
	WriteGoals(b, s.Goals)
	writeReliability(b, s.Reliability)
	writeChances(b, s.Chances)
	writeList(b, "Files that were not read:", s.Ignored)
	_, err := io.WriteString(w, fold(b.String(), 80))
	return err
}

// briefQuantities bounds the lines of WriteBrief.
const briefQuantities = 8

// WriteBrief prints a line for each of the quantities with most rows, over all tables: statistics
// such as mean and p99 of one quantity count together. It takes twelve lines at most.
func (s *Summary) WriteBrief(w io.Writer) error {
	var rows []Comparison
	for i := range s.Tables {
		rows = append(rows, s.Tables[i].rows...)
	}
	families, of := grouped(rows, func(c *Comparison) string { return QuantityFamily(c.Quantity) })
	slices.SortStableFunc(families, func(a, b string) int { return len(of[b]) - len(of[a]) })
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "%d predictions beside measurements, in %d tables\n", len(rows), len(s.Tables))
	fmt.Fprintf(b, "  %-11s %5s %8s %8s %8s  %s\n", "error of", "rows", "median", "bias", "worst",
		"in row")
	for _, family := range families[:min(briefQuantities, len(families))] {
		sum := SumUp(of[family])
		fmt.Fprintf(b, "  %-11s %5d %6.1f %% %+6.1f %% %+6.1f %%  %s:%d\n", family, sum.N,
			sum.Median, sum.Bias, sum.Worst.Error, path.Base(sum.Worst.File), sum.Worst.Line)
	}
	fmt.Fprintln(b, "The worst row, as a scenario: llmsim validate --row FILE:LINE --emit")
	_, err := io.WriteString(w, fold(b.String(), 80))
	return err
}

// fold breaks lines that are longer at spaces; what follows is indented further than the line.
func fold(words string, columns int) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(words, "\n") {
		indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " ")))
		if indent != "" {
			indent += "    "
		}
		for utf8.RuneCountInString(strings.TrimRight(line, "\n")) > columns {
			letters := []rune(line)
			at := strings.LastIndexByte(string(letters[:columns+1]), ' ')
			if strings.TrimSpace(line[:max(0, at)]) == "" {
				break // one long word
			}
			b.WriteString(strings.TrimRight(line[:at], " ") + "\n")
			line = indent + strings.TrimLeft(line[at:], " ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// fewRows is the number of comparisons up to which a table is printed row by row.
const fewRows = 40

func (t *TableSummary) writeText(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s: %s\n", t.Name, fileNames(t.Files))
	if len(t.Quantities) > 0 {
		fmt.Fprintf(b, "  %-22s %5s %8s %8s %8s %8s  %s\n", "error of", "rows", "median", "mean",
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

// caseWidth is the width of the column that names what was measured.
const caseWidth = 26

// writeRows prints every comparison under the name of its group.
func writeRows(b *bytes.Buffer, rows []Comparison) {
	if len(rows) > 0 {
		fmt.Fprintf(b, "    %-*s %-11s %8s %9s\n", caseWidth, "", "", "measured", "predicted")
	}
	var group Group
	for i := range rows {
		c := &rows[i]
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(b, "  %s\n", &group)
		}
		name := c.Case
		if utf8.RuneCountInString(name) > caseWidth {
			fmt.Fprintf(b, "    %s\n", name)
			name = ""
		}
		fmt.Fprintf(b, "    %-*s %-11s %8s %9s %-8s %+6.1f %%\n", caseWidth, name, c.Quantity,
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
		fmt.Fprintf(b, "  %-22s %5d %6.1f %% %6.1f %% %+6.1f %% %+6.1f %%  %s\n", name, s.N,
			s.Median, s.Mean, s.Bias, s.Worst.Error, row)
	}
}

func writeTargets(b *bytes.Buffer, list []TargetResult) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(b, "Targets: median absolute error of the rows above, which include rows that "+
		"constants were fitted to")
	fmt.Fprintf(b, "  %-19s %-17s %5s %7s %8s    %s\n", "table", "quantity", "rows", "ours",
		"at most", "best other")
	for i := range list {
		r := &list[i]
		verdict := "✓"
		if !r.Met {
			verdict = "✗"
		}
		fmt.Fprintf(b, "  %-19s %-17s %5d %5.1f %% %6g %% %s  %s\n", r.Table, r.Subject(), r.N,
			r.Median, r.AtMost, verdict, r.Peer)
	}
	b.WriteByte('\n')
}

// Subject names the quantity and the rows of a target.
func (t *Target) Subject() string {
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

// fileNames names the files of a table, as far as a line holds them.
func fileNames(list []string) string {
	if len(list) > 2 {
		return fmt.Sprintf("%d files, %s to %s", len(list), path.Base(list[0]),
			path.Base(list[len(list)-1]))
	}
	return strings.Join(list, ", ")
}
