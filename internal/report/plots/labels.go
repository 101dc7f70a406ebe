package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels writes names beside points: where no other name and no point is, if there is such a place.
// It implements plot.Plotter.
type labels struct {
	at    plotter.XYs
	names []string
	style text.Style
}

// newLabels returns labels in the letters of a plot's ticks, somewhat smaller.
func newLabels(p *plot.Plot) *labels {
	style := p.X.Tick.Label
	style.Font.Size = 6.5
	style.XAlign, style.YAlign = text.XLeft, text.YBottom
	return &labels{style: style}
}

func (l *labels) add(at plotter.XY, name string) {
	l.at, l.names = append(l.at, at), append(l.names, name)
}

// Plot implements plot.Plotter.
func (l *labels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const mark = 2.5 // half the width of a point's
	taken := make([]vg.Rectangle, len(l.at))
	for i, at := range l.at {
		center := vg.Point{X: x(at.X), Y: y(at.Y)}
		taken[i] = rectangle(center.Sub(vg.Point{X: mark, Y: mark}), 2*mark, 2*mark)
	}
	for i, at := range l.at {
		room := l.place(c, vg.Point{X: x(at.X), Y: y(at.Y)}, l.names[i], taken)
		taken = append(taken, room)
		c.FillText(l.style, room.Min, l.names[i])
	}
}

// place returns the room for the name of a point: the nearest that is free, or else below to the
// right.
func (l *labels) place(c draw.Canvas, at vg.Point, name string,
	taken []vg.Rectangle) vg.Rectangle {
	width, height := l.style.Width(name), l.style.Font.Size
	for away := vg.Length(0); away < 5*height; away += height {
		for _, corner := range []vg.Point{
			{X: 4, Y: -height - away}, {X: -4 - width, Y: 2 + away}, {X: 4, Y: 1 + away},
			{X: -4 - width, Y: -height - away},
		} {
			room := rectangle(at.Add(corner), width, height)
			if c.Contains(room.Min) && c.Contains(room.Max) &&
				!slices.ContainsFunc(taken, func(t vg.Rectangle) bool { return overlap(t, room) }) {
				return room
			}
		}
	}
	return rectangle(at.Add(vg.Point{X: 4, Y: -height}), width, height)
}

func rectangle(corner vg.Point, width, height vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: corner, Max: corner.Add(vg.Point{X: width, Y: height})}
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}
