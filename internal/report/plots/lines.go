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

// Series is a named row of points. Missed says which of them miss the SLO; nil if no value does.
type Series struct {
	Name   string
	X, Y   []float64
	Missed []bool
}

// mostNamed is how many series a legend has room for.
const mostNamed = 10

// Curves is series that are drawn as lines with marks.
type Curves struct {
	Title, X, Y string
	Series      []Series
	// Names, where there are any, are written at 0, 1, 2, … of the horizontal axis. That axis is
	// logarithmic if most values would crowd at its left end.
	Names []string
	// Percent says that vertical values are in percent, and end at 100.
	Percent bool
	// Points leaves the lines out, where there is nothing between the marks.
	Points bool
	// Limit is a value that is not to be exceeded, with its name; 0 without one.
	Limit     float64
	LimitName string
}

// Draw draws the curves.
func (c *Curves) Draw() (*plot.Plot, error) {
	p := newPlot(c.Title, c.X, c.Y)
	addGrid(p)
	logarithmic := len(c.Names) == 0 && crowded(c.Series)
	if logarithmic {
		p.X.Tick.Marker = logTicks{}
	}
	if c.Percent {
		p.Y.Tick.Marker = plainTicks{most: 100}
	}
	most := 0.0
	for i := range c.Series {
		s := c.Series[i]
		if logarithmic {
			s.X = slices.Clone(s.X)
			for j := range s.X {
				s.X[j] = math.Log10(s.X[j])
			}
		}
		for _, y := range s.Y {
			most = max(most, y)
		}
		named := len(c.Series) > 1 && i < mostNamed
		if err := addMarkedLine(p, i, &s, named, c.Points); err != nil {
			return nil, err
		}
	}
	if len(c.Names) > 0 {
		p.NominalX(c.Names...)
	}
	p.Y.Max = max(p.Y.Max, most)
	entries := min(len(c.Series), mostNamed)
	// A limit far above all values would only flatten them.
	if c.Limit > 0 && c.Limit < 10*most {
		p.Y.Max = max(p.Y.Max, c.Limit)
		entries++
		if err := addLimit(p, c.Limit, c.LimitName); err != nil {
			return nil, err
		}
	}
	if anyMissed(c.Series) {
		addMissedKey(p)
		entries++
	}
	roomForLegend(p, entries)
	return p, nil
}

// addLimit draws a horizontal line over the whole width.
func addLimit(p *plot.Plot, limit float64, name string) error {
	line, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: limit}, {X: p.X.Max, Y: limit}})
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = limitColour(), vg.Points(1.2), dashes(1)
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// limitColour is the colour of limits, which no series has.
func limitColour() color.Color { return color.RGBA{0xa8, 0x1c, 0x1c, 0xff} }

func anyMissed(series []Series) bool {
	return slices.ContainsFunc(series, func(s Series) bool {
		return slices.Contains(s.Missed, true)
	})
}

// addMissedKey explains the cross on points that miss the SLO.
func addMissedKey(p *plot.Plot) {
	p.Legend.Add("misses the SLO", &plotter.Scatter{GlyphStyle: missedStyle()})
}

func missedStyle() draw.GlyphStyle {
	return draw.GlyphStyle{Color: limitColour(), Radius: vg.Points(4), Shape: draw.CrossGlyph{}}
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
// are in milliseconds; points that are not positive are left out. A limit is as in Curves.
func Tradeoff(title, x, y string, series []Series, limit float64, name string) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	p.Y.Tick.Marker = logTimes{1e-3}
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4
	addGrid(p)
	for i := range series {
		s := series[i]
		s.Y = slices.Clone(s.Y)
		for j := range s.Y {
			s.Y[j] = math.Log10(s.Y[j])
		}
		if err := addMarkedLine(p, i, &s, len(series) > 1 && i < mostNamed, false); err != nil {
			return nil, err
		}
	}
	p.X.Min = 0
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max)
	if at := math.Log10(limit); limit > 0 && at > p.Y.Min && at < p.Y.Max+1 {
		p.Y.Max = max(p.Y.Max, at)
		if err := addLimit(p, at, name); err != nil {
			return nil, err
		}
	}
	if anyMissed(series) {
		addMissedKey(p)
	}
	leaveRoom(p, min(len(series), mostNamed)+3)
	return p, nil
}

// Growth draws each series as a line with marks on logarithmic axes. Points with a value that is
// not positive are left out.
func Growth(title, x, y string, series []Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	logarithmic(p)
	addGrid(p)
	for i := range series {
		s := Series{Name: series[i].Name}
		for _, at := range logPoints(&series[i]) {
			s.X, s.Y = append(s.X, at.X), append(s.Y, at.Y)
		}
		if err := addMarkedLine(p, i, &s, true, false); err != nil {
			return nil, err
		}
	}
	p.Y.Min = math.Floor(p.Y.Min)
	p.Y.Max = max(p.Y.Min+1, math.Ceil(p.Y.Max)) // a decade at least
	roomForLegend(p, len(series))
	return p, nil
}

// addMarkedLine draws the finite points of a series, with a cross where it misses the SLO.
func addMarkedLine(p *plot.Plot, i int, s *Series, named, pointsOnly bool) error {
	all := points(s)
	xys := finite(all)
	if len(xys) == 0 {
		return nil
	}
	line, marks, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	line.Color = colour(i)
	marks.GlyphStyle = draw.GlyphStyle{Color: colour(i), Radius: vg.Points(2.5), Shape: shape(i)}
	var missed plotter.XYs
	for j := range s.Missed {
		if s.Missed[j] {
			missed = append(missed, all[j])
		}
	}
	missed = finite(missed)
	key := []plot.Thumbnailer{marks}
	if pointsOnly {
		p.Add(marks)
	} else {
		p.Add(line, marks)
		key = append(key, line)
	}
	if named {
		p.Legend.Add(s.Name, key...)
	}
	if len(missed) > 0 {
		p.Add(&plotter.Scatter{XYs: missed, GlyphStyle: missedStyle()})
	}
	return nil
}

// Front draws all points on logarithmic axes, and joins the points of the Pareto front. Points with
// a value that is not positive are left out.
func Front(title, x, y string, all, front Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	logarithmic(p)
	addGrid(p)
	cloud := draw.GlyphStyle{Color: color.Gray{0x90}, Radius: vg.Points(2.5), Shape: shape(0)}
	if err := addMarks(p, all.Name, logPoints(&all), cloud); err != nil {
		return nil, err
	}
	if at := finite(logPoints(&front)); len(at) > 0 {
		line, marks, err := plotter.NewLinePoints(at)
		if err != nil {
			return nil, err
		}
		line.Color, line.StepStyle = colour(1), plotter.PostStep
		marks.GlyphStyle = draw.GlyphStyle{Color: colour(1), Radius: vg.Points(3.5),
			Shape: shape(1)}
		p.Add(line, marks)
		p.Legend.Add(front.Name, line, marks)
	}
	p.Legend.Top = true
	p.X.Min, p.X.Max = math.Floor(p.X.Min), math.Ceil(p.X.Max)
	p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max)+0.3
	return p, nil
}

// Cloud draws points on logarithmic axes: the others small and grey, behind the series. Points with
// a value that is not positive are left out.
func Cloud(title, x, y string, others Series, series []Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	logarithmic(p)
	addGrid(p)
	p.Legend.Top = true
	for i, s := range append([]Series{others}, series...) {
		style := draw.GlyphStyle{Color: color.Gray{0x90}, Radius: vg.Points(2), Shape: shape(0)}
		if i > 0 {
			style = draw.GlyphStyle{Color: colour(i - 1), Radius: vg.Points(4), Shape: shape(i)}
		}
		if err := addMarks(p, s.Name, logPoints(&s), style); err != nil {
			return nil, err
		}
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
// room above the data for the lines of a legend.
func roomForLegend(p *plot.Plot, lines int) {
	p.Legend.Top = true
	if p.Y.Min > 0 {
		p.Y.Min = 0
	}
	if p.Y.Max <= p.Y.Min || math.IsInf(p.Y.Max, 0) {
		p.Y.Min, p.Y.Max = 0, 1
	}
	leaveRoom(p, lines+1)
}

// leaveRoom raises the top of a vertical axis, so that this number of lines of a legend stand above
// the data: each takes a twentieth of the picture.
func leaveRoom(p *plot.Plot, lines int) {
	share := min(0.5, float64(lines)/20)
	p.Y.Max += share / (1 - share) * (p.Y.Max - p.Y.Min)
}

// Stacked draws a bar for each name, in which the vertical values of the series stand on each other
// in their order.
func Stacked(title, x, y string, names []string, stack []Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	p.Y.Min = 0
	if err := addStack(p, stack, stackColour); err != nil {
		return nil, err
	}
	nominalX(p, names)
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4
	leaveRoom(p, len(stack)+1)
	return p, nil
}

// stackColour returns the colour of part i of a stack: greys where the others are used up.
func stackColour(i int, _ string) color.Color {
	if n := len(colours()); i >= n {
		return color.Gray{uint8(0x80 + 0x20*(i-n)%0x80)}
	}
	return colour(i)
}
