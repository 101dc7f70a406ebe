// Package doc holds what is said to people as a value: a list of blocks, made once, which is
// rendered as text for a terminal, as HTML or as Markdown. The program for browsers has no
// renderers (files with the constraint !js): its page draws by itself.
package doc

import "strings"

// Kind is what a block is.
type Kind uint8

// The kinds of blocks. Rendered as text, an entry is a name with words beside it, a line keeps its
// spaces, and a chart is its values drawn between its name and its words. A picture, whose words
// are SVG, is on pages only.
const (
	Heading Kind = iota
	Text
	Item
	Entry
	Command
	Line
	Gap
	Table
	Chart
	Picture
)

// Block is one thing that a document says.
type Block struct {
	Kind Kind
	// Name is of an entry or a chart.
	Name, Words string
	// Indent is by how many columns a text is moved to the right in a terminal, its lines after
	// the first by two more.
	Indent int
	// Header and Rows make a table. Its columns Left hold words, and are aligned to the left. A
	// terminal leaves its columns Wide out, other media its columns Drawn, which are made of
	// characters.
	Header            []string
	Rows              [][]string
	Left, Wide, Drawn []int
	// Values make a chart, whose full height is Top.
	Values []float64
	Top    float64
}

// Blocks is a document.
type Blocks []Block

func (b *Blocks) add(kind Kind, words string) { *b = append(*b, Block{Kind: kind, Words: words}) }

// Heading adds a heading.
func (b *Blocks) Heading(words string) { b.add(Heading, words) }

// Text adds a paragraph.
func (b *Blocks) Text(words string) { b.add(Text, words) }

// Item adds a paragraph of a list.
func (b *Blocks) Item(words string) { b.add(Item, words) }

// Line adds words that are shown as they are.
func (b *Blocks) Line(words string) { b.add(Line, words) }

// Gap adds an empty line.
func (b *Blocks) Gap() { b.add(Gap, "") }

// Picture adds SVG, which has to be free of scripts.
func (b *Blocks) Picture(svg string) { b.add(Picture, svg) }

// Entry adds a line of a list: a name, and words beside it.
func (b *Blocks) Entry(name, words string) {
	*b = append(*b, Block{Kind: Entry, Name: name, Words: words})
}

// Indented adds a paragraph that stands to the right of others.
func (b *Blocks) Indented(words string, indent int) {
	*b = append(*b, Block{Kind: Text, Words: words, Indent: indent})
}

// Chart adds values as columns of rising height, the highest of top.
func (b *Blocks) Chart(name string, values []float64, top float64, words string) {
	*b = append(*b, Block{Kind: Chart, Name: name, Values: values, Top: top, Words: words})
}

// Table adds rows under a header; the columns numbered in left are words, the others figures. It
// returns the block, which the next addition may move.
func (b *Blocks) Table(header []string, rows [][]string, left ...int) *Block {
	*b = append(*b, Block{Kind: Table, Header: header, Rows: rows, Left: left})
	return &(*b)[len(*b)-1]
}

// without returns a table without some of its columns.
func (b *Block) without(columns []int) *Block {
	hidden := map[int]bool{}
	for _, i := range columns {
		hidden[i] = true
	}
	visible := func(cells []string) (list []string) {
		for i, c := range cells {
			if !hidden[i] {
				list = append(list, c)
			}
		}
		return list
	}
	t := &Block{Kind: Table, Header: visible(b.Header)}
	for _, row := range b.Rows {
		t.Rows = append(t.Rows, visible(row))
	}
	for _, l := range b.Left {
		if !hidden[l] {
			place := l
			for i := range l {
				if hidden[i] {
					place--
				}
			}
			t.Left = append(t.Left, place)
		}
	}
	return t
}

// Styles of words. Renderers without colours leave them out.
const (
	bold  = "\x1b[1m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	blue  = "\x1b[34m"
	dim   = "\x1b[2m"
	plain = "\x1b[0m"
)

// Bold marks words that name what follows.
func Bold(words string) string { return bold + words + plain }

// Good marks words of something as it should be.
func Good(words string) string { return green + words + plain }

// Bad marks words of something that is not as it should be.
func Bad(words string) string { return red + words + plain }

// Dim marks words of less weight.
func Dim(words string) string { return dim + words + plain }

// Blue marks what is drawn.
func Blue(words string) string { return blue + words + plain }

// Plain returns words without their styles.
func Plain(words string) string {
	if !strings.Contains(words, "\x1b") {
		return words
	}
	return strings.NewReplacer(bold, "", green, "", red, "", blue, "", dim, "", plain, "").
		Replace(words)
}
