package report

import (
	"bytes"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Heading prints a paragraph in bold.
func (p *Printer) Heading(words string) {
	for _, line := range strings.Split(text.WrapSoft(words, columns), "\n") {
		p.printf("%s\n", p.paint(bold, strings.TrimRight(line, " ")))
	}
}

// Text prints a paragraph, broken into lines.
func (p *Printer) Text(words string) { p.paragraph(words, 0) }

// Item prints a paragraph of a list.
func (p *Printer) Item(words string) {
	p.printf("  - ")
	p.paragraph(words, 4)
}

// Gap prints an empty line.
func (p *Printer) Gap() { p.printf("\n") }

// Line prints words as they are.
func (p *Printer) Line(words string) { p.printf("%s\n", words) }

// Lines returns the lines that print prints, with the colours of p, without printing them.
func (p *Printer) Lines(print func(*Printer)) []string {
	var out bytes.Buffer
	if print(&Printer{out: &out, colour: p.colour}); out.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// Command prints a shell command that may be copied, broken at spaces outside quotes.
func (p *Printer) Command(words string) {
	const indent, broken = "  ", ` \`
	line := indent
	for i, word := range shellWords(words) {
		switch {
		case i == 0:
			line += word
		case text.StringWidth(line+" "+word+broken) <= columns:
			line += " " + word
		default:
			p.Line(line + broken)
			line = indent + indent + word
		}
	}
	p.Line(line)
}

// shellWords parts a shell command at its spaces, except for spaces in quotes.
func shellWords(command string) []string {
	var list []string
	var quote rune
	begin, escaped := 0, false
	for at, r := range command {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && r == ' ':
			list, begin = append(list, command[begin:at]), at+1
		}
	}
	return append(list, command[begin:])
}

// Table prints rows under a header; the columns numbered in left are words, the others figures.
func (p *Printer) Table(header []string, rows [][]string, left ...int) {
	list := make([]table.Row, len(rows))
	for i, r := range rows {
		list[i] = tableRow(r)
	}
	p.grid(tableRow(header), list, left...)
}

func tableRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	return row
}

// Figure prints a number with three significant digits, and whole numbers with commas.
func Figure(x float64) string { return figure(x) }

// Percent prints a share with two significant digits or whole percents.
func Percent(share float64) string { return percent(share) }
