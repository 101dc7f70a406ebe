package timeline

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// textWidth is the number of characters of a row, beside what names it.
const textWidth = 56

// Charts draws charts below each other in 80 columns, all on the same scale of time.
func Charts(charts []*Chart) (p doc.Blocks) {
	whole := end(charts)
	for _, c := range charts {
		p.Heading(clean(c.Name))
		for i := range c.Rows {
			row := c.Rows[i]
			p.Line(fmt.Sprintf("%5d %s %s", row.ID, drawRow(row, whole),
				units.FormatDuration((row.Last - row.Arrival).Seconds())))
		}
		p.Text(c.words())
		if c.Blocks != nil {
			c.Blocks.text(&p, whole)
			p.Text(c.Blocks.words())
		}
		p.Gap()
	}
	p.Text(fmt.Sprintf("· waits  ▒ prefill  █ decode  ░ complete, held by a static batch; %s in "+
		"all; at the right the latency of the request.", units.FormatDuration(whole.Seconds())))
	return p
}

// clean leaves control characters out of a name.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name)
}

// end returns when the last request of all charts ended.
func end(charts []*Chart) sim.Time {
	var last sim.Time
	for _, c := range charts {
		last = max(last, c.End)
	}
	return max(last, 1)
}

// drawRow draws the life of a request in characters. A part that is shorter than a character is
// seen all the same.
func drawRow(row *Life, whole sim.Time) string {
	cells := slices.Repeat([]rune{' '}, textWidth)
	at := func(t sim.Time) int {
		return min(textWidth-1, int(float64(textWidth)*float64(t)/float64(whole)))
	}
	for i := at(row.Arrival); i <= at(row.Last); i++ {
		cells[i] = waits.rune()
	}
	for _, shade := range []cellStyle{held, decode, prefill} {
		for _, p := range row.Parts {
			if lookOf(p.Kind) == shade {
				for i := at(p.From); i <= at(p.To-1); i++ {
					cells[i] = shade.rune()
				}
			}
		}
	}
	return string(cells)
}

// words sums a chart up.
func (c *Chart) words() string {
	var ttft, latency float64
	steps := 0
	for i := range c.Rows {
		ttft += (c.Rows[i].First - c.Rows[i].Arrival).Seconds()
		latency += (c.Rows[i].Last - c.Rows[i].Arrival).Seconds()
	}
	for i := range c.Tracks {
		steps += len(c.Tracks[i].Steps)
	}
	n := float64(max(1, len(c.Rows)))
	return fmt.Sprintf("%d requests in %d steps: on average %s to the first token, %s to the "+
		"last; all are done after %s.",
		len(c.Rows), steps, units.FormatDuration(ttft/n), units.FormatDuration(latency/n),
		units.FormatDuration(c.End.Seconds()))
}

// cellStyle is how a part is drawn.
type cellStyle int

const (
	prefill cellStyle = iota
	decode
	held
	waits
)

func lookOf(k Kind) cellStyle {
	switch k {
	case Prefill, Recompute:
		return prefill
	case Decode:
		return decode
	case Held:
		return held
	}
	return waits
}

// rune is what a terminal draws it with: the computed ones are full.
func (l cellStyle) rune() rune { return [...]rune{'▒', '█', '░', '·'}[l] }

// name says what is drawn so.
func (l cellStyle) name() string {
	return [...]string{"prefill", "decode", "complete, held by a static batch"}[l]
}

// describe returns the life of a request in words.
func describe(row *Life) string {
	var parts []string
	for _, p := range row.Parts {
		look := lookOf(p.Kind)
		if look == waits {
			continue
		}
		words := fmt.Sprintf("%s from %s to %s in %d steps", look.name(),
			units.FormatDuration(p.From.Seconds()), units.FormatDuration(p.To.Seconds()), p.Steps)
		if look == prefill {
			words += fmt.Sprintf(" (%d tokens)", p.Tokens)
		}
		parts = append(parts, words)
	}
	return fmt.Sprintf("request %d, %d prompt and %d output tokens, arrives at %s: %s", row.ID,
		row.Prompt, row.Output,
		units.FormatDuration(row.Arrival.Seconds()), strings.Join(parts, "; "))
}
