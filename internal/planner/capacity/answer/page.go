package answer

import (
	"math"

	"github.com/llmsim/llmsim/internal/report"
)

// Block is one thing that a page says: a heading, a paragraph, an item of a list, a command that
// may be copied, an empty line, or a table.
type Block struct {
	Kind  Kind
	Words string
	// Header and Rows make a table. Its columns Left are aligned to the left.
	Header []string
	Rows   [][]string
	Left   []int
}

// Kind is what a block is.
type Kind uint8

// The kinds of blocks.
const (
	Heading Kind = iota
	Text
	Item
	Command
	Gap
	Table
)

// print renders a block as text for a terminal.
func (b *Block) print(p *report.Printer) {
	switch b.Kind {
	case Heading:
		p.Heading(b.Words)
	case Text:
		p.Text(b.Words)
	case Item:
		p.Item(b.Words)
	case Command:
		p.Command(b.Words)
	case Gap:
		p.Gap()
	case Table:
		p.Table(b.Header, b.Rows, b.Left...)
	}
}

// Level is how much of an answer is printed.
type Level uint8

// The levels: about ten lines, at most mostLines, or all.
const (
	Brief Level = iota
	Short
	Whole
)

// mostLines is the largest number of lines of a short page.
const mostLines = 25

// rank is how dispensable a part of a page is: what has a higher rank is left out first.
type rank uint8

const (
	essential rank = iota // never left out
	likely                // how likely the fleet keeps the SLO
	asides                // where requests come from, the goal, and what serves today
	chosenSettings
	alternatives
	reasons
	commands
	changes
	sources
)

// page is what is said of an answer, in order. Each part is printed in the first of its ways that
// fits.
type page []struct {
	rank rank
	ways [][]Block
}

// add adds a part, and the shorter ways to say it. An empty part is left out.
func (g *page) add(r rank, ways ...[]Block) {
	if len(ways[0]) > 0 {
		*g = append(*g, struct {
			rank rank
			ways [][]Block
		}{r, ways})
	}
}

// text adds paragraphs, without the empty ones.
func (g *page) text(r rank, paragraphs ...string) {
	for _, words := range paragraphs {
		g.add(r, texts(words))
	}
}

// texts returns paragraphs, without the empty ones.
func texts(paragraphs ...string) (list []Block) {
	for _, words := range paragraphs {
		if words != "" {
			list = append(list, Block{Kind: Text, Words: words})
		}
	}
	return list
}

// items returns the items of a list.
func items(list []string) (blocks []Block) {
	for _, words := range list {
		blocks = append(blocks, Block{Kind: Item, Words: words})
	}
	return blocks
}

func heading(words string) []Block { return []Block{{Kind: Heading, Words: words}} }

// unlimited is a number of lines that no page has.
const unlimited = math.MaxInt

// print prints the essential parts and, in the order of their ranks, the other parts that fit into
// the given number of lines. It returns the number of lines that it printed.
func (g page) print(p *report.Printer, most int) int {
	parts := make([][]string, len(g))
	printed := 0
	for r := essential; r <= sources; r++ {
		for i, part := range g {
			if part.rank != r {
				continue
			}
			for k, way := range part.ways {
				lines := p.Lines(func(p *report.Printer) {
					for b := range way {
						way[b].print(p)
					}
				})
				if printed+len(lines) <= most || r == essential && k == len(part.ways)-1 {
					parts[i] = lines
					break
				}
			}
			printed += len(parts[i])
		}
	}
	for _, lines := range parts {
		for _, line := range lines {
			p.Line(line)
		}
	}
	return printed
}
