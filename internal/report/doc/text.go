//go:build !js

package doc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Columns is the width of a text: every line keeps to it, except for commands and lines as they
// are.
const Columns = 80

const (
	entryIndent = 16 // of the words of an entry
	chartWidth  = 36 // of the columns of a chart
)

// Print writes a document to out as text. It has colours if out is a terminal and the environment
// variable NO_COLOR (no-color.org) is not set.
func Print(out io.Writer, list Blocks) error {
	_, err := out.Write(list.Terminal(IsTerminal(out) && os.Getenv("NO_COLOR") == ""))
	return err
}

// IsTerminal reports whether out is a terminal.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// Lines returns the number of lines of the document's text.
func (b Blocks) Lines() int { return bytes.Count(b.Terminal(false), []byte("\n")) }

// Terminal renders a document as text, with colours or without.
func (b Blocks) Terminal(colour bool) []byte {
	var t textRenderer
	for _, one := range b {
		if !colour { // lines are broken without styles
			one.Words = Plain(one.Words)
		}
		t.block(&one)
	}
	if !colour {
		return []byte(Plain(t.String()))
	}
	return t.Bytes()
}

// textRenderer writes blocks as text with styles.
type textRenderer struct{ bytes.Buffer }

func (t *textRenderer) block(b *Block) {
	switch b.Kind {
	case Heading:
		for line := range strings.SplitSeq(text.WrapSoft(b.Words, Columns), "\n") {
			t.line(Bold(strings.TrimRight(line, " ")))
		}
	case Text:
		fmt.Fprintf(t, "%*s", b.Indent, "")
		further := b.Indent
		if b.Indent > 0 {
			further += 2
		}
		t.paragraph(b.Words, further)
	case Item:
		t.WriteString("  - ")
		t.paragraph(b.Words, 4)
	case Entry:
		fmt.Fprintf(t, " %-*s", entryIndent-1, b.Name)
		t.paragraph(b.Words, entryIndent)
	case Command:
		t.command(b.Words)
	case Line:
		t.line(b.Words)
	case Gap:
		t.line("")
	case Table:
		t.table(b.without(b.Wide))
	case Chart:
		t.line(fmt.Sprintf(" %-*s%s  %s", entryIndent-1, b.Name,
			Blue(fmt.Sprintf("%-*s", chartWidth, Spark(b.Values, chartWidth, b.Top))), b.Words))
	}
}

func (t *textRenderer) line(words string) { t.WriteString(words + "\n") }

// paragraph writes a text, broken into lines. Lines after the first are indented.
func (t *textRenderer) paragraph(words string, indent int) {
	for i, line := range strings.Split(text.WrapSoft(words, Columns-indent), "\n") {
		if i > 0 {
			fmt.Fprintf(t, "%*s", indent, "")
		}
		t.line(strings.TrimRight(line, " "))
	}
}

// command writes a shell command that may be copied, broken at spaces outside quotes.
func (t *textRenderer) command(words string) {
	const indent, broken = "  ", ` \`
	line := indent
	for i, word := range shellWords(words) {
		switch {
		case i == 0:
			line += word
		case text.StringWidth(line+" "+word+broken) <= Columns:
			line += " " + word
		default:
			t.line(line + broken)
			line = indent + indent + word
		}
	}
	t.line(line)
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

// table writes a table without frame.
func (t *textRenderer) table(b *Block) {
	w := table.NewWriter()
	w.AppendHeader(tableRow(b.Header))
	for _, row := range b.Rows {
		w.AppendRow(tableRow(row))
	}
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = " ", " "
	w.SetStyle(style)
	config := make([]table.ColumnConfig, len(b.Header))
	for i := range config {
		align := text.AlignRight
		if slices.Contains(b.Left, i) {
			align = text.AlignLeft
		}
		config[i] = table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align}
	}
	b.narrow(config)
	w.SetColumnConfigs(config)
	w.SuppressTrailingSpaces()
	t.line(w.Render())
}

func tableRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	return row
}
