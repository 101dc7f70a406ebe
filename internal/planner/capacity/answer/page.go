package answer

import "github.com/llmsim/llmsim/internal/report"

// mostLines is the largest number of lines of a short page.
const mostLines = 25

// The ranks of the parts of a short page: what has a higher rank is left out first.
const (
	essential = iota // never left out
	likely           // how likely the fleet keeps the SLO
	asides           // where requests come from, the goal, and what serves today
	chosenSettings
	alternatives
	reasons
	commands
	changes
	sources
)

// page is the parts of a page of an answer in order. Each is printed by the first of its ways that
// fits.
type page []struct {
	rank int
	ways []func(*report.Printer)
}

// add adds a part, and the shorter ways to print it.
func (g *page) add(rank int, ways ...func(*report.Printer)) {
	*g = append(*g, struct {
		rank int
		ways []func(*report.Printer)
	}{rank, ways})
}

// text adds a paragraph.
func (g *page) text(rank int, words string) {
	g.add(rank, func(p *report.Printer) { p.Text(words) })
}

// print prints the essential parts and, in the order of their ranks, the other parts that fit into
// the given number of lines. It returns the number of lines that it printed.
func (g page) print(p *report.Printer, most int) int {
	parts := make([][]string, len(g))
	printed := 0
	for rank := essential; rank <= sources; rank++ {
		for i, part := range g {
			if part.rank != rank {
				continue
			}
			for k, way := range part.ways {
				lines := p.Lines(way)
				if printed+len(lines) <= most || rank == essential && k == len(part.ways)-1 {
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
