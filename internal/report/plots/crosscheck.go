package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sample is a number of values under one name.
type Sample struct {
	Name   string
	Values []float64
}

// Overlay draws cumulative distributions over each other. The label of values has their unit;
// values that are not positive are left out.
func Overlay(title, label string, samples []Sample) (*plot.Plot, error) {
	p := newPlot(title, label, "share that is at most so large")
	p.X.Tick.Marker = logTicks{}
	p.Y.Min, p.Y.Max = 0, 1
	addGrid(p)
	for i, s := range samples {
		var points plotter.XYs
		values := slices.Sorted(slices.Values(s.Values))
		for j, v := range values {
			if v > 0 {
				point := logXY(v, 1)
				point.Y = float64(j+1) / float64(len(values))
				points = append(points, point)
			}
		}
		if points == nil {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes, line.StepStyle = colour(i), vg.Points(1.5), dashes(i),
			plotter.PostStep
		p.Add(line)
		p.Legend.Add(s.Name, line)
	}
	p.Legend.YOffs, p.Legend.XOffs = 4, -4
	return p, nil
}

// Points are points under one name.
type Points struct {
	Name string
	XY   plotter.XYs
}

// Errors draws relative errors, in percent, against what may explain them, which is positive and
// drawn on a logarithmic axis.
func Errors(title, label string, groups []Points) (*plot.Plot, error) {
	p := newPlot(title, label, "predicted over executed, less 1 (%)")
	p.X.Tick.Marker = logTicks{}
	addGrid(p)
	most := 0.0
	for i, g := range groups {
		points := make(plotter.XYs, len(g.XY))
		for j, xy := range g.XY {
			points[j] = plotter.XY{X: math.Log10(xy.X), Y: xy.Y}
			most = max(most, math.Abs(xy.Y))
		}
		style := draw.GlyphStyle{Color: colour(i), Shape: shape(i), Radius: vg.Points(1.5)}
		if err := addMarks(p, g.Name, points, style); err != nil {
			return nil, err
		}
	}
	p.Y.Max = 10 * math.Ceil(most/10)
	p.Y.Min = -p.Y.Max
	p.Legend.Top, p.Legend.XOffs = true, -4
	return p, nil
}

// Timeline draws what happened over time, in seconds, as lines over each other. The label of values
// has their unit.
func Timeline(title, label string, lines []Points) (*plot.Plot, error) {
	p := newPlot(title, "time (s)", label)
	addGrid(p)
	for i, l := range lines {
		if len(l.XY) == 0 {
			continue
		}
		line, err := plotter.NewLine(l.XY)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes = colour(i), vg.Points(1), dashes(i)
		p.Add(line)
		p.Legend.Add(l.Name, line)
	}
	roomForLegend(p, 3)
	p.Legend.XOffs = -4
	return p, nil
}
