package timeline

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Sizes of the picture in pixels.
const (
	width     = 1180
	left      = 96
	right     = 24
	rowHeight = 18
	barHeight = 12
	stepTall  = 30
	panelGap  = 34
	footTall  = 44
	headTall  = 40
)

// colour is one of the palette of Okabe and Ito, as in package plots.
func (l cellStyle) colour() string { return [...]string{"#d55e00", "#0072b2", "#9ecae1"}[l] }

// WriteSVG draws charts below each other, all on the same scale of time.
func WriteSVG(out io.Writer, title string, charts []*Chart) error {
	_, err := io.WriteString(out, svg(title, charts))
	return err
}

func svg(title string, charts []*Chart) string {
	d := drawing{whole: end(charts)}
	high := headTall
	for _, c := range charts {
		high += c.height()
	}
	high += footTall
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, sans-serif" font-size="12">`, width, high, width, high)
	var words []string
	for _, c := range charts {
		words = append(words, c.Name+": "+c.words())
	}
	d.printf(`<title>%s</title><desc>%s</desc>`, escape(title), escape(strings.Join(words, " ")))
	d.printf(`<rect width="%d" height="%d" fill="#ffffff"/>`, width, high)
	d.legend(title)
	y := headTall
	for _, c := range charts {
		d.chart(c, y)
		y += c.height()
	}
	d.axis(y)
	d.printf("</svg>\n")
	return d.String()
}

// escape readies a text for XML and HTML, without control characters.
func escape(text string) string { return html.EscapeString(clean(text)) }

// drawing is an SVG under construction.
type drawing struct {
	strings.Builder
	whole sim.Time
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// x returns where a time is.
func (d *drawing) x(t sim.Time) float64 {
	return left + float64(width-left-right)*float64(t)/float64(d.whole)
}

// legend draws the title and what the colours mean.
func (d *drawing) legend(title string) {
	d.printf(`<text x="%d" y="22" font-size="16" font-weight="600">%s</text>`, left, escape(title))
	x := width - right
	for _, k := range []cellStyle{held, decode, prefill} {
		x -= 7*len(k.name()) + 26
		d.printf(`<rect x="%d" y="13" width="12" height="12" fill="%s"/><text x="%d" y="23">%s</text>`, x, k.colour(), x+17, k.name())
	}
}

func (c *Chart) height() int {
	high := panelGap + len(c.Tracks)*stepTall + len(c.Rows)*rowHeight
	if c.Blocks != nil {
		high += mapTall
	}
	return high
}

// chart draws the steps of each batch, and below them a row for each request.
func (d *drawing) chart(c *Chart, y int) {
	d.printf(`<text x="%d" y="%d" font-weight="600">%s</text><text x="%d" y="%d" fill="#565b64" text-anchor="end">%s</text>`,
		left, y+20, escape(c.Name), width-right, y+20, escape(c.words()))
	y += panelGap - 6
	for i := range c.Tracks {
		d.track(c, &c.Tracks[i], y)
		y += stepTall
	}
	for i := range c.Rows {
		d.row(c.Rows[i], y)
		y += rowHeight
	}
	if c.Blocks != nil {
		d.blocks(c.Blocks, y)
	}
}

// track draws each step as a box: as much of it is in the colour of prefill as its tokens are of
// prompts.
func (d *drawing) track(c *Chart, t *Track, y int) {
	name := "steps"
	if len(c.Tracks) > 1 {
		name = fmt.Sprintf("replica %d.%d", t.Replica, t.Lane)
	}
	d.printf(`<text x="%d" y="%d" text-anchor="end" fill="#565b64">%s</text>`, left-8, y+16, name)
	const tall = stepTall - 8
	for _, s := range d.joined(t.Steps) {
		from, wide := d.x(s.From), d.x(s.To)-d.x(s.From)
		gap := min(1, wide/4)
		prompt := tall * float64(s.Prompt) / float64(max(1, s.Prompt+s.Decodes+s.Padding))
		d.printf(`<g><title>%s: %d prompt tokens, %d sequences decode, %d keep a place</title>`+
			`<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/><rect x="%.2f" y="%d" width="%.2f" height="%.1f" fill="%s"/></g>`,
			units.FormatDuration((s.To - s.From).Seconds()), s.Prompt, s.Decodes, s.Padding,
			from, y, max(0.3, wide-gap), tall, decode.colour(), from, y, max(0.3, wide-gap), prompt,
			prefill.colour())
	}
}

// joined joins steps of the same batch that are too narrow to be told apart.
func (d *drawing) joined(steps []Step) []Step {
	const narrow = 2 // pixels
	var list []Step
	for _, s := range steps {
		if n := len(list); n > 0 && d.x(s.To)-d.x(s.From) < narrow {
			last := &list[n-1]
			if last.Prompt == 0 && s.Prompt == 0 && last.Decodes == s.Decodes &&
				last.Padding == s.Padding && last.To == s.From {
				last.To = s.To
				continue
			}
		}
		list = append(list, s)
	}
	return list
}

// row draws the life of a request: a thin line while it waits, and bars for what it does.
func (d *drawing) row(row *Life, y int) {
	middle := y + barHeight/2 + 2
	d.printf(`<g><title>%s</title>`, escape(describe(row)))
	d.printf(`<text x="%d" y="%d" text-anchor="end" fill="#1c2024">%d</text>`, left-8, middle+4,
		row.ID)
	d.printf(`<line x1="%.2f" x2="%.2f" y1="%d" y2="%d" stroke="#8b919b" stroke-width="2"/>`,
		d.x(row.Arrival), d.x(row.Last), middle, middle)
	for _, p := range row.Parts {
		look := lookOf(p.Kind)
		if look == waits {
			continue
		}
		d.printf(`<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`, d.x(p.From), y+2,
			max(1, d.x(p.To)-d.x(p.From)), barHeight, look.colour())
	}
	d.printf(`<path d="M%.2f %d v%d" stroke="#1c2024" stroke-width="1.5"/>`, d.x(row.First), y,
		barHeight+4)
	d.printf(`</g>`)
}

// axis draws the scale of time.
func (d *drawing) axis(y int) {
	step := tickStep(d.whole.Seconds())
	unit, by := "s", 1.0
	if d.whole.Seconds() < 2 {
		unit, by = "ms", 1000
	}
	d.printf(`<path d="M%d %d H%d" stroke="#1c2024"/>`, left, y, width-right)
	for at := 0.0; at <= d.whole.Seconds()*(1+1e-9); at += step {
		x := d.x(sim.Seconds(at))
		d.printf(`<path d="M%.1f %d v5" stroke="#1c2024"/><path d="M%.1f %d V%d" stroke="#1c2024" stroke-opacity="0.08"/>`, x, y, x, headTall, y)
		d.printf(`<text x="%.1f" y="%d" text-anchor="middle">%g</text>`, x, y+18,
			math.Round(at*by*1e6)/1e6)
	}
	d.printf(`<text x="%d" y="%d" text-anchor="end" fill="#565b64">time (%s); the upright mark is the first token</text>`, width-right, y+36, unit)
}

// tickStep returns a round distance between some eight ticks.
func tickStep(span float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/8)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= span/8 {
			return m * power
		}
	}
	return 10 * power
}

// WritePage writes a page: the picture, and what it shows as text.
func WritePage(out io.Writer, title string, charts []*Chart) error {
	var p doc.Blocks
	p.Picture(svg(title, charts))
	for _, c := range charts {
		p.Heading(clean(c.Name))
		p.Text(c.words())
		for i := range c.Rows {
			p.Item(describe(c.Rows[i]) + ".")
		}
	}
	return p.Page(out, clean(title))
}
