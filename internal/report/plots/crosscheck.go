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
