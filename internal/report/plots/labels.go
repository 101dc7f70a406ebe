package plots

import (
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
