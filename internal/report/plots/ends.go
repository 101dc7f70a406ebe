package plots

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ends writes the names of lines at the right of the data, at the height where each line ends, as
// far as there is room; a thin line leads to a name that had to move. It implements plot.Plotter.
type ends struct {
	at      plotter.XYs
	names   []string
	colours []color.Color
	style   text.Style
	edge    float64   // the horizontal value at which the data end
	half    vg.Length // half the width of a mark
	beside  *labels   // of series of a single point
}

// newEnds returns the ends of a chart's lines, in the letters of its ticks.
func newEnds(p *plot.Plot) *ends {
	style := p.X.Tick.Label
	style.Font.Size = 8
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	e := &ends{style: style, half: 3, beside: newLabels(p)}
	e.beside.style.Font.Size, e.beside.diagonal = 8, false
	return e
}

// series names a series.
func (e *ends) series(at plotter.XYs, name string, c color.Color) {
	if len(at) == 1 {
		e.beside.add(at[0], name)
		e.beside.colours = append(e.beside.colours, c)
		return
	}
	e.name(slices.MaxFunc(at, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) }), name, c)
}

// name names a line that ends at a point.
func (e *ends) name(at plotter.XY, name string, c color.Color) {
	e.at, e.names, e.colours = append(e.at, at), append(e.names, name), append(e.colours, c)
}

// add adds the names to a chart whose data have their ends, and widens its horizontal axis for
// them.
func (e *ends) add(c *chart) {
	widest := vg.Length(0)
	for _, name := range e.names {
		widest = max(widest, e.style.Width(name))
	}
	e.edge = c.X.Max
	if widest > 0 {
		const fallback = 1.12   // letters of a browser may be wider
		if c.X.Max <= c.X.Min { // as gonum does for a single value
			c.X.Min, c.X.Max = c.X.Min-1, c.X.Max+1
		}
		c.X.Max += roomBeside(fallback*widest+e.half+11) * (c.X.Max - c.X.Min)
		if _, names := c.X.Tick.Marker.(plot.ConstantTicks); !names {
			c.X.Tick.Marker = upTo{c.X.Tick.Marker, e.edge}
		}
		c.Add(e)
	}
	if len(e.beside.at) > 0 {
		c.Add(e.beside)
	}
}

// upTo marks an axis as far as there are data.
type upTo struct {
	plot.Ticker
	edge float64
}

// Ticks implements plot.Ticker.
func (u upTo) Ticks(low, high float64) []plot.Tick {
	return slices.DeleteFunc(u.Ticker.Ticks(low, high), func(t plot.Tick) bool {
		return t.Value > u.edge+1e-9*(high-low)
	})
}

// roomBeside is the share by which a horizontal axis grows for letters of a width beside the data.
func roomBeside(width vg.Length) float64 {
	const axis = 430 // points of the width of an axis of a picture for print
	share := min(0.45, float64(width)/axis)
	return share / (1 - share)
}

// Plot implements plot.Plotter.
func (e *ends) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	order := make([]int, len(e.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(e.at[i].Y, e.at[j].Y)
	})
	high := e.style.Font.Size * 1.25
	heights := make([]vg.Length, len(order))
	for k, i := range order { // upwards, each above the last
		heights[k] = max(y(e.at[i].Y), c.Min.Y+high/2)
		if k > 0 {
			heights[k] = max(heights[k], heights[k-1]+high)
		}
	}
	limit := c.Max.Y - high/2
	for k := len(heights) - 1; k >= 0; k-- { // and down again from the top
		heights[k] = min(heights[k], limit)
		limit = heights[k] - high
	}
	for k, i := range order {
		from := vg.Point{X: x(e.at[i].X), Y: y(e.at[i].Y)}
		to := vg.Point{X: x(e.edge) + e.half + 7, Y: heights[k]}
		c.StrokeLine2(draw.LineStyle{Color: color.Gray{0xa0}, Width: 0.4}, from.X+e.half, from.Y,
			to.X-2, to.Y)
		style := e.style
		style.Color = e.colours[i]
		c.FillText(style, to, e.names[i])
	}
}
