//go:build !js

package doc

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// least is the width below which a column of names is not broken further.
const least = 6

// narrow breaks names into lines, the widest column of names first, until a table fits into the
// columns of a terminal: between words, and within words only where that is not enough.
func (b *Block) narrow(config []table.ColumnConfig) {
	widths, words := b.measure()
	for _, floor := range []func(column int) int{
		func(column int) int { return words[column] },
		func(int) int { return least },
	} {
		for sum(widths) > Columns {
			widest := -1
			for _, i := range b.Left {
				if widths[i] > floor(i) && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			config[widest].WidthMax, config[widest].WidthMaxEnforcer = widths[widest], wrap
		}
	}
}

// measure returns the widths of columns, and the widths to which they can be narrowed between
// words.
func (b *Block) measure() (widths, words []int) {
	widths, words = make([]int, len(b.Header)), make([]int, len(b.Header))
	for i := range b.Header {
		for _, row := range append([][]string{b.Header}, b.Rows...) {
			if i >= len(row) {
				continue
			}
			cell := row[i]
			widths[i] = max(widths[i], text.LongestLineLen(cell))
			for word := range strings.FieldsSeq(breakable(cell)) {
				words[i] = max(words[i], text.StringWidthWithoutEscSequences(word))
			}
		}
		if !slices.Contains(b.Left, i) {
			words[i] = widths[i]
		}
	}
	return widths, words
}

// sum is the width of a table whose columns have a space on each side.
func sum(widths []int) (total int) {
	for _, w := range widths {
		total += w + 2
	}
	return total
}

// Fits reports whether a table has at most 80 columns without breaking words.
func (b *Block) Fits() bool {
	_, words := b.without(b.Wide).measure()
	return sum(words) <= Columns
}

// breakable puts a space behind each hyphen, where a line may end.
func breakable(cell string) string { return strings.ReplaceAll(cell, "-", "- ") }

// wrap breaks a cell into lines at spaces and behind hyphens, and words that are wider where they
// reach the width.
func wrap(cell string, width int) string {
	var lines []string
	current := ""
	end := func() {
		lines = append(lines, strings.TrimRight(current, " "))
		current = ""
	}
	for _, word := range strings.SplitAfter(strings.ReplaceAll(cell, "-", "-\x00"), " ") {
		for part := range strings.SplitSeq(word, "\x00") {
			if current != "" && wide(current+part) > width {
				end()
			}
			for wide(part) > width {
				letters := []rune(part)
				current, part = string(letters[:width]), string(letters[width:])
				end()
			}
			current += part
		}
	}
	end()
	return strings.Join(lines, "\n")
}

// wide is the width of words without the spaces behind them.
func wide(words string) int {
	return text.StringWidthWithoutEscSequences(strings.TrimRight(words, " "))
}

// Narrow breaks the lines of a text between words, so that they have at most 80 columns. A line
// goes on below its last column, which begins behind the last two spaces in a row.
func Narrow(words string) string {
	var lines []string
	for line := range strings.SplitSeq(words, "\n") {
		if text.StringWidthWithoutEscSequences(line) <= Columns {
			lines = append(lines, line)
			continue
		}
		indent := 0
		if at := strings.LastIndex(line, "  "); at >= 0 && at+2 <= Columns/2 {
			indent = at + 2
		}
		broken := strings.Split(text.WrapSoft(line[indent:], Columns-indent), "\n")
		for i, part := range broken {
			part = strings.TrimRight(part, " ")
			if i > 0 {
				part = strings.Repeat(" ", indent) + strings.TrimLeft(part, " ")
			}
			broken[i] = part
		}
		lines = append(lines, line[:indent]+strings.Join(broken, "\n"))
	}
	return strings.Join(lines, "\n")
}
