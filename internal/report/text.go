// Package report shows results to people and to other programs: tables and small charts on a
// terminal, JSON and CSV files, progress.
package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/llmsim/llmsim/internal/units"
)

// columns is the width that every table keeps to.
const columns = 80

// Printer writes for people: 80 columns, with colour where that helps.
type Printer struct {
	out    io.Writer
	colour bool
	err    error
}

// NewPrinter writes to out. There is colour if out is a terminal and the environment variable
// NO_COLOR (no-color.org) is not set.
func NewPrinter(out io.Writer) *Printer {
	return &Printer{out: out, colour: isTerminal(out) && os.Getenv("NO_COLOR") == ""}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// Err returns the first error of writing.
func (p *Printer) Err() error { return p.err }

func (p *Printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format, args...)
	}
}

// paragraph writes a text, broken into lines; those after the first are indented.
func (p *Printer) paragraph(words string, indent int) {
	lines := strings.Split(text.WrapSoft(words, columns-indent), "\n")
	for i, line := range lines {
		if i > 0 {
			p.printf("%*s", indent, "")
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
}

// entry writes a line of a list: a name, and words beside it.
func (p *Printer) entry(name, words string) {
	p.printf(" %-*s", entryIndent-1, name)
	p.paragraph(words, entryIndent)
}

const entryIndent = 16

// ANSI escape sequences.
const (
	bold  = "\x1b[1m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	blue  = "\x1b[34m"
	dim   = "\x1b[2m"
	plain = "\x1b[0m"
)

func (p *Printer) paint(style, words string) string {
	if !p.colour {
		return words
	}
	return style + words + plain
}

// grid writes a table without frame: names on the left, figures on the right of their columns.
func (p *Printer) grid(header table.Row, rows []table.Row, left ...int) {
	t := table.NewWriter()
	t.AppendHeader(header)
	t.AppendRows(rows)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = " ", " "
	t.SetStyle(style)
	var config []table.ColumnConfig
	for i := range header {
		align := text.AlignRight
		for _, l := range left {
			if l == i {
				align = text.AlignLeft
			}
		}
		config = append(config, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	narrow(header, rows, left, config)
	t.SetColumnConfigs(config)
	t.SuppressTrailingSpaces()
	p.printf("%s\n", t.Render())
}

// count prints a whole number with commas: 1,234,567.
func count[T int | int64](n T) string { return units.Count(int64(n)) }

// percent prints a share with two significant digits or whole percents: 0.43 %, 12 %, 162 %. Only
// what is exactly all is 100 %.
func percent(share float64) string {
	switch p := 100 * share; {
	case p == 0 || p == 100 || p >= 100.5:
		return fmt.Sprintf("%.0f%%", p)
	case p > 99:
		return units.Significant(min(p, 99.99), 4) + "%"
	case p >= 10:
		return fmt.Sprintf("%.0f%%", p)
	}
	return units.Significant(100*share, 2) + "%"
}

// times prints how many times as much something is: 41, 8.2, 0.013.
func times(ratio float64) string {
	if ratio >= 10 {
		return figure(math.Round(ratio))
	}
	return units.Significant(ratio, 2)
}

// figure prints a number with three significant digits, and whole numbers with commas.
func figure(x float64) string {
	if math.Abs(x) >= 999.5 {
		return count(int64(math.Round(x)))
	}
	return units.Significant(x, 3)
}

// counted prints a figure and what it counts: 1 user, 31.1 users.
func counted(x float64, noun string) string {
	if f := figure(x); f != "1" {
		return f + " " + noun + "s"
	}
	return "1 " + noun
}
