package report

import (
	"github.com/jedib0t/go-pretty/v6/table"
)

// Heading prints a line in bold.
func (p *Printer) Heading(words string) { p.printf("%s\n", p.paint(bold, words)) }

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
