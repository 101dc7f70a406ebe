package plots

import (
	"errors"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Accuracy is predictions beside measurements.
type Accuracy struct {
	// Title heads the picture, Unit is the unit of all figures.
	Title, Unit string
	// X, Y and Diagonal name the axes and the line on which they are equal; where they are empty,
	// they are measured, predicted and equal, with a band around the line.
	X, Y, Diagonal string
	Series         []AccuracySeries
}

// AccuracySeries is the points of one colour. All figures are above 0.
type AccuracySeries struct {
	Name                string
	Measured, Predicted []float64
	// Labels are written beside the points, if there are any; Colour and Hollow say how the points
	// look, if not as usual.
	Labels []string
	Colour color.Color
	Hollow bool
}

// band is the relative error within which a prediction is called close.
const band = 0.1

// Draw puts predicted over measured on equal logarithmic axes, with the diagonal on which they are
// equal and a band of ±10 % around it.
func (a *Accuracy) Draw() (*plot.Plot, error) {
	x, y := "measured ("+a.Unit+")", "predicted ("+a.Unit+")"
	if a.X != "" {
		x, y = a.X, a.Y
	}
	p := newLogarithmic(a.Title, x, y)
	p.legend(true)
	low, high := a.span()
	a.addDiagonal(p, low, high)
	names := newLabels(p.Plot)
	for i := range a.Series {
		s := &a.Series[i]
		points := logPoints(&Series{X: s.Measured, Y: s.Predicted})
		style := draw.GlyphStyle{Color: colour(i), Radius: radius(len(points)), Shape: shape(i)}
		if s.Colour != nil {
			style.Color = s.Colour
		}
		if s.Hollow {
			style.Shape, style.Radius = draw.RingGlyph{}, vg.Points(4)
		}
		p.marks("", points, style)
		for k, name := range s.Labels {
			names.add(points[k], name)
		}
		if s.Hollow {
			names.rings = append(names.rings, points...)
		}
		style.Radius = vg.Points(3)
		p.Legend.Add(s.Name, &plotter.Scatter{GlyphStyle: style})
	}
	p.X.Min, p.X.Max = math.Log10(low), math.Log10(high)
	p.Y.Min, p.Y.Max = p.X.Min, p.X.Max
	p.Add(names)
	return p.done()
}

// span returns the range of all figures, with a margin; without figures, two decades.
func (a *Accuracy) span() (low, high float64) {
	low, high = math.Inf(1), 0
	for _, s := range a.Series {
		for i := range s.Measured {
			low = min(low, s.Measured[i], s.Predicted[i])
			high = max(high, s.Measured[i], s.Predicted[i])
		}
	}
	if high == 0 {
		return 0.1, 10
	}
	return low / 1.5, high * 1.5
}

// addDiagonal draws the line of equality, over a band unless it has a name of its own.
func (a *Accuracy) addDiagonal(p *chart, low, high float64) {
	name := a.Diagonal
	if name == "" {
		name = "equal; ±10 % shaded"
		around, err := plotter.NewPolygon(plotter.XYs{
			logXY(low, low*(1-band)), logXY(low, low*(1+band)), logXY(high, high*(1+band)),
			logXY(high, high*(1-band)),
		})
		if err != nil {
			p.err = errors.Join(p.err, err)
			return
		}
		around.Color, around.LineStyle.Width = color.Gray{0xdc}, 0
		p.Add(around)
	}
	p.line(name, plotter.XYs{logXY(low, low), logXY(high, high)},
		draw.LineStyle{Color: color.Gray{0x60}, Width: vg.Points(1)}, plotter.NoStep)
}

// radius makes points smaller where there are many.
func radius(points int) vg.Length {
	switch {
	case points > 1000:
		return vg.Points(0.9)
	case points > 100:
		return vg.Points(1.6)
	}
	return vg.Points(2.5)
}

// Sample is a number of values under one name.
type Sample struct {
	Name   string
	Values []float64
}

// Overlay draws cumulative distributions over each other. The label of values has their unit;
// values that are not positive are left out.
func Overlay(title, label string, samples []Sample) (*plot.Plot, error) {
	p := newChart(title, label, "share that is at most so large")
	p.X.Tick.Marker = logTicks{}
	p.Y.Min, p.Y.Max = 0, 1
	for i, s := range samples {
		var points plotter.XYs
		values := slices.Sorted(slices.Values(s.Values))
		for j, v := range values {
			if v > 0 {
				points = append(points, plotter.XY{X: math.Log10(v),
					Y: float64(j+1) / float64(len(values))})
			}
		}
		p.line(s.Name, points, stroke(i, 1.5), plotter.PostStep)
	}
	p.Legend.YOffs, p.Legend.XOffs = 4, -4
	return p.done()
}

// Errors draws relative errors, in percent, against what may explain them, which is positive and
// drawn on a logarithmic axis.
func Errors(title, label string, groups []Series) (*plot.Plot, error) {
	p := newChart(title, label, "predicted over executed, less 1 (%)")
	p.X.Tick.Marker = logTicks{}
	most := 0.0
	for i, g := range groups {
		for _, y := range g.Y {
			most = max(most, math.Abs(y))
		}
		g = g.on(true, false)
		p.marks(g.Name, points(&g), draw.GlyphStyle{Color: colour(i), Shape: shape(i),
			Radius: vg.Points(1.5)})
	}
	p.Y.Max = 10 * math.Ceil(most/10)
	p.Y.Min = -p.Y.Max
	p.legend(false)
	return p.done()
}

// Timeline draws what happened over time, in seconds, as lines over each other. The label of values
// has their unit.
func Timeline(title, label string, lines []Series) (*plot.Plot, error) {
	p := newChart(title, "time (s)", label)
	for i := range lines {
		p.line(lines[i].Name, points(&lines[i]), stroke(i, 1), plotter.NoStep)
	}
	roomForLegend(p.Plot, 3)
	p.Legend.XOffs = -4
	return p.done()
}
