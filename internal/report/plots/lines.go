package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is a named row of points.
type Series struct {
	Name string
	X, Y []float64
}

// mostNamed is how many series a legend has room for.
const mostNamed = 10

// Lines draws each series as a line with marks. Where names are given, they are written at 0, 1, 2,
// … of the horizontal axis. That axis is logarithmic if most values would crowd at its left end.
func Lines(title, x, y string, series []Series, names ...string) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	addGrid(p)
	logarithmic := len(names) == 0 && crowded(series)
	if logarithmic {
		p.X.Tick.Marker = logTicks{}
	}
	for i := range series {
		xys := points(&series[i])
		for j := range xys {
			if logarithmic {
				xys[j].X = math.Log10(xys[j].X)
			}
		}
		if err := addMarkedLine(p, i, series[i].Name, len(series) > 1 && i < mostNamed,
			xys); err != nil {
			return nil, err
		}
	}
	if len(names) > 0 {
		p.NominalX(names...)
	}
	roomForLegend(p)
	return p, nil
}

// crowded reports whether the horizontal values are positive and half of them within the first
// eighth of the largest.
func crowded(series []Series) bool {
	var all []float64
	for i := range series {
		all = append(all, series[i].X...)
	}
	slices.Sort(all)
	return len(all) > 2 && all[0] > 0 && all[len(all)/2] <= all[len(all)-1]/8
}

// Tradeoff draws each series as a line with marks, its vertical axis logarithmic. Vertical values
// are positive.
func Tradeoff(title, x, y string, series []Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	p.Y.Tick.Marker = logTicks{}
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4
	addGrid(p)
	for i := range series {
		xys := points(&series[i])
		for j := range xys {
			xys[j].Y = math.Log10(xys[j].Y)
		}
		if err := addMarkedLine(p, i, series[i].Name, len(series) > 1 && i < mostNamed,
			xys); err != nil {
			return nil, err
		}
	}
	p.X.Min = 0
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max)
	p.Y.Max += 0.3 * (p.Y.Max - p.Y.Min) // room for the legend
	return p, nil
}

func addMarkedLine(p *plot.Plot, i int, name string, named bool, xys plotter.XYs) error {
	if len(xys) == 0 {
		return nil
	}
	line, marks, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	line.Color = colour(i)
	marks.GlyphStyle = draw.GlyphStyle{Color: colour(i), Radius: vg.Points(2.5), Shape: shape(i)}
	p.Add(line, marks)
	if named {
		p.Legend.Add(name, line, marks)
	}
	return nil
}

// Front draws all points on logarithmic axes, and joins those of the Pareto front. All values are
// positive.
func Front(title, x, y string, all, front Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	logarithmic(p)
	addGrid(p)
	cloud, err := plotter.NewScatter(logPoints(&all))
	if err != nil {
		return nil, err
	}
	cloud.GlyphStyle = draw.GlyphStyle{Color: color.Gray{0x90}, Radius: vg.Points(2.5),
		Shape: shape(0)}
	line, marks, err := plotter.NewLinePoints(logPoints(&front))
	if err != nil {
		return nil, err
	}
	line.Color, line.StepStyle = colour(1), plotter.PostStep
	marks.GlyphStyle = draw.GlyphStyle{Color: colour(1), Radius: vg.Points(3.5), Shape: shape(1)}
	p.Add(cloud, line, marks)
	p.Legend.Add(all.Name, cloud)
	p.Legend.Add(front.Name, line, marks)
	p.Legend.Top = true
	p.X.Min, p.X.Max = math.Floor(p.X.Min), math.Ceil(p.X.Max)
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max)+0.3
	return p, nil
}

// Cloud draws points on logarithmic axes: those of others small and grey, behind the series. All
// values are positive.
func Cloud(title, x, y string, others Series, series []Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	logarithmic(p)
	addGrid(p)
	p.Legend.Top = true
	for i, s := range append([]Series{others}, series...) {
		if len(s.X) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(logPoints(&s))
		if err != nil {
			return nil, err
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: color.Gray{0x90}, Radius: vg.Points(2),
			Shape: shape(0)}
		if i > 0 {
			marks.GlyphStyle = draw.GlyphStyle{Color: colour(i - 1), Radius: vg.Points(4),
				Shape: shape(i)}
		}
		p.Add(marks)
		p.Legend.Add(s.Name, marks)
	}
	p.Y.Max += 0.25 * (p.Y.Max - p.Y.Min) // room for the legend
	return p, nil
}

func logPoints(s *Series) plotter.XYs {
	xys := make(plotter.XYs, len(s.X))
	for i := range s.X {
		xys[i] = logXY(s.X[i], s.Y[i])
	}
	return xys
}

func points(s *Series) plotter.XYs {
	xys := make(plotter.XYs, len(s.X))
	for i := range s.X {
		xys[i] = plotter.XY{X: s.X[i], Y: s.Y[i]}
	}
	return xys
}

// roomForLegend starts the vertical axis at zero where that shows sizes as they are, and leaves
// room above the data.
func roomForLegend(p *plot.Plot) {
	p.Legend.Top = true
	if p.Y.Min > 0 {
		p.Y.Min = 0
	}
	if p.Y.Max <= p.Y.Min || math.IsInf(p.Y.Max, 0) {
		p.Y.Min, p.Y.Max = 0, 1
	}
	p.Y.Max += 0.25 * (p.Y.Max - p.Y.Min)
}
