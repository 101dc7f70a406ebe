package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels writes names beside points: where no other name, no point, no ring and no diagonal is, if
// there is such a place. It implements plot.Plotter.
type labels struct {
	at       plotter.XYs
	names    []string
	colours  []color.Color // of the names, as far as they have one
	rings    plotter.XYs
	style    text.Style
	diagonal bool // the chart has one, from equal values to equal values
}

// newLabels returns labels in the letters of a plot's ticks, somewhat smaller.
func newLabels(p *plot.Plot) *labels {
	style := p.X.Tick.Label
	style.Font.Size = 6.5
	style.XAlign, style.YAlign = text.XLeft, text.YBottom
	return &labels{style: style, diagonal: true}
}

// beside adds labels to a chart without a diagonal, in letters of a size.
func (c *chart) beside(size vg.Length) *labels {
	l := newLabels(c.Plot)
	l.style.Font.Size, l.diagonal = size, false
	c.Add(l)
	return l
}

func (l *labels) add(at plotter.XY, name string) {
	l.at, l.names = append(l.at, at), append(l.names, name)
}

// Plot implements plot.Plotter.
func (l *labels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const mark, ring = 2.5, 4 // half their widths
	var taken []vg.Rectangle
	around := func(at plotter.XY, half vg.Length) {
		center := vg.Point{X: x(at.X), Y: y(at.Y)}
		taken = append(taken, rectangle(center.Sub(vg.Point{X: half, Y: half}), 2*half, 2*half))
	}
	for _, at := range l.at {
		around(at, mark)
	}
	for _, at := range l.rings {
		around(at, ring)
	}
	for v, step := p.X.Min, (p.X.Max-p.X.Min)/1000; l.diagonal && v < p.X.Max; v += step {
		around(plotter.XY{X: v, Y: v}, 1)
	}
	marks := len(taken)
	for i, at := range l.at {
		point := vg.Point{X: x(at.X), Y: y(at.Y)}
		room := l.place(c, point, l.names[i], taken, taken[marks:])
		taken = append(taken, room)
		if end := nearest(room, point); math.Hypot(float64(end.X-point.X),
			float64(end.Y-point.Y)) > 6 {
			c.StrokeLine2(draw.LineStyle{Color: color.Gray{0xa0}, Width: 0.4}, point.X, point.Y,
				end.X, end.Y)
			for _, at := range between(point, end) {
				taken = append(taken, rectangle(at, 0.4, 0.4))
			}
		}
		style := l.style
		if i < len(l.colours) {
			style.Color = l.colours[i]
		}
		c.FillText(style, room.Min, l.names[i])
	}
}

// nearest returns the point of a room that is nearest to a point.
func nearest(room vg.Rectangle, at vg.Point) vg.Point {
	return vg.Point{X: min(max(at.X, room.Min.X), room.Max.X),
		Y: min(max(at.Y, room.Min.Y), room.Max.Y)}
}

// between returns some points on the way from one point to another.
func between(from, to vg.Point) []vg.Point {
	const steps = 16
	way := make([]vg.Point, steps)
	for k := range way {
		way[k] = from.Add(to.Sub(from).Scale((vg.Length(k) + 0.5) / steps))
	}
	return way
}

// place returns the room for the name of a point: the nearest that is free and to which a line
// crosses no other name, else any that is free, else below to the right. A thin line leads to a
// name that is further away.
func (l *labels) place(c draw.Canvas, at vg.Point, name string,
	taken, names []vg.Rectangle) vg.Rectangle {
	width, height := l.style.Width(name), l.style.Font.Size
	for _, crossed := range [][]vg.Rectangle{names, nil} {
		for away := vg.Length(0); away < 9*height; away += height / 2 {
			for _, corner := range []vg.Point{
				{X: 4, Y: -height - away}, {X: -4 - width, Y: 2 + away}, {X: 4, Y: 1 + away},
				{X: -4 - width, Y: -height - away}, {X: 6, Y: -height / 2},
				{X: -width / 2, Y: -height - 3 - away}, {X: -width / 2, Y: 3 + away},
			} {
				room := rectangle(at.Add(corner), width, height)
				if c.Contains(room.Min) && c.Contains(room.Max) && free(room, taken) &&
					!slices.ContainsFunc(between(at, nearest(room, at)), func(p vg.Point) bool {
						return !free(rectangle(p, 0.4, 0.4), crossed)
					}) {
					return room
				}
			}
		}
	}
	return rectangle(at.Add(vg.Point{X: 4, Y: -height}), width, height)
}

func rectangle(corner vg.Point, width, height vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: corner, Max: corner.Add(vg.Point{X: width, Y: height})}
}

func free(room vg.Rectangle, taken []vg.Rectangle) bool {
	return !slices.ContainsFunc(taken, func(t vg.Rectangle) bool { return overlap(t, room) })
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

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
