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

// mostNamed is how many series have their names beside them.
const mostNamed = 10

// Curves is series that are drawn as lines with marks.
type Curves struct {
	Title, X, Y string
	Series      []Series
	// Names, where there are any, are written at 0, 1, 2, … of the horizontal axis. That axis is
	// logarithmic if most values would crowd at its left end.
	Names []string
	// Percent says that vertical values are in percent, and end at 100. The axis begins below the
	// least of them.
	Percent bool
	// Points leaves the lines out, where there is nothing between the marks.
	Points bool
	// Limit is a value that is not to be exceeded, with its name; 0 without one.
	Limit     float64
	LimitName string
}

// Draw draws the curves.
func (c *Curves) Draw() (*plot.Plot, error) {
	p := newChart(c.Title, c.X, c.Y)
	logarithmic := len(c.Names) == 0 && crowded(c.Series)
	if logarithmic {
		p.X.Tick.Marker = logTicks{}
	}
	if c.Percent {
		p.Y.Tick.Marker = plainTicks{most: 100}
	}
	most := 0.0
	names := newEnds(p.Plot)
	for i, s := range c.Series {
		for _, y := range s.Y {
			most = max(most, y)
		}
		p.curve(i, s.on(logarithmic, false), names.of(len(c.Series), i), c.Points)
	}
	if len(c.Names) > 0 {
		p.NominalX(c.Names...)
	}
	p.Y.Max = max(p.Y.Max, most)
	// A limit far above all values would only flatten them.
	if c.Limit > 0 && c.Limit < 10*most {
		p.limit(c.Limit, "")
		names.name(plotter.XY{X: p.X.Max, Y: c.Limit}, c.LimitName, limitColour())
	}
	names.add(p)
	entries := 0
	if p.missedKey(c.Series) {
		entries = 1
		p.legend(true) // names stand at the right
	}
	if c.Percent && p.Y.Min > 0 && p.Y.Min < 100 {
		p.Y.Min, p.Y.Max = max(0, p.Y.Min-0.15*(100-p.Y.Min)), 100
		p.Legend.Top = true
		leaveRoom(p.Plot, entries+1)
		return p.done()
	}
	roomForLegend(p.Plot, entries)
	return p.done()
}

// of returns what series i of n adds its name to, and nil for a series that is not named.
func (e *ends) of(n, i int) *ends {
	if n == 1 || i >= mostNamed {
		return nil
	}
	return e
}

// limit draws a horizontal line over the whole width, which the vertical axis reaches.
func (c *chart) limit(at float64, name string) {
	c.line(name, plotter.XYs{{X: c.X.Min, Y: at}, {X: c.X.Max, Y: at}},
		draw.LineStyle{Color: limitColour(), Width: vg.Points(1.2), Dashes: dashes(1)},
		plotter.NoStep)
}

// limitColour is the colour of limits, which no series has.
func limitColour() color.Color { return color.RGBA{0xa8, 0x1c, 0x1c, 0xff} }

// missedKey explains the cross on points that miss the SLO, and reports whether there are any.
func (c *chart) missedKey(series []Series) bool {
	missed := slices.ContainsFunc(series, func(s Series) bool {
		return slices.Contains(s.Missed, true)
	})
	if missed {
		c.Legend.Add("misses the SLO", &plotter.Scatter{GlyphStyle: missedStyle()})
	}
	return missed
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

// Tradeoff draws each series as a line with marks. Vertical values are in milliseconds, on an axis
// that is logarithmic where they go over more than two decades; points that are not positive are
// left out. A limit is as in Curves.
func Tradeoff(title, x, y string, series []Series, limit float64, name string) (*plot.Plot, error) {
	p := newChart(title, x, y)
	least, most := positive(series)
	logarithmic := most > 100*least
	on := func(v float64) float64 { return v }
	p.Y.Tick.Marker = times{1e-3}
	if logarithmic {
		on, p.Y.Tick.Marker = math.Log10, logTimes{1e-3}
	}
	names := newEnds(p.Plot)
	for i, s := range series {
		s.Y = slices.Clone(s.Y)
		for k, y := range s.Y {
			if !(y > 0) {
				s.Y[k] = math.NaN() // which is not drawn
			}
		}
		p.curve(i, s.on(false, logarithmic), names.of(len(series), i), false)
	}
	p.X.Min = 0
	if limit > least/10 && limit < 10*most {
		p.limit(on(limit), "")
		names.name(plotter.XY{X: p.X.Max, Y: on(limit)}, name, limitColour())
	}
	if !logarithmic {
		p.Y.Min, p.Y.Max = 0, max(p.Y.Max, 1e-9)
	}
	names.add(p)
	if p.missedKey(series) {
		p.legend(true) // names stand at the right
		leaveRoom(p.Plot, 2)
	} else {
		leaveRoom(p.Plot, 1)
	}
	return p.done()
}

// positive returns the least and the largest of the vertical values above 0, and 0 twice without
// any.
func positive(series []Series) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, y := range s.Y {
			if y > 0 {
				least, most = min(least, y), max(most, y)
			}
		}
	}
	if most < least {
		return 0, 0
	}
	return least, most
}

// Growth draws each series as a line with marks on logarithmic axes. Points with a value that is
// not positive are left out.
func Growth(title, x, y string, series []Series) (*plot.Plot, error) {
	p := newLogarithmic(title, x, y)
	names := newEnds(p.Plot)
	for i, s := range series {
		s.Missed = nil
		p.curve(i, s.on(true, true), names, false)
	}
	if p.Y.Max < p.Y.Min { // without points
		p.Y.Min, p.Y.Max = 0, 1
	}
	p.Y.Min = math.Floor(p.Y.Min)
	p.Y.Max = max(p.Y.Min+1, math.Ceil(p.Y.Max)) // a decade at least
	names.add(p)
	leaveRoom(p.Plot, 1)
	return p.done()
}

// curve draws the finite points of series i as a line with marks, or the marks only, with a cross
// where the series misses the SLO. Its name goes to names, if any.
func (c *chart) curve(i int, s Series, names *ends, pointsOnly bool) {
	all := points(&s)
	xys := finite(all)
	if len(xys) == 0 {
		return
	}
	marks := &plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: colour(i),
		Radius: vg.Points(2.5), Shape: shape(i)}}
	if !pointsOnly {
		c.line("", xys, draw.LineStyle{Color: colour(i), Width: vg.Points(1)}, plotter.NoStep)
	}
	c.Add(marks)
	if names != nil {
		names.series(xys, s.Name, colour(i))
	}
	var missed plotter.XYs
	for j := range s.Missed {
		if s.Missed[j] {
			missed = append(missed, all[j])
		}
	}
	c.marks("", missed, missedStyle())
}

// Front draws all points on logarithmic axes, joins the points of the Pareto front, and writes
// their names beside them. Vertical values are in milliseconds. Points with a value that is not
// positive are left out. A limit is as in Curves.
func Front(title, x, y string, all, front Series, names []string, limit float64,
	limitName string) (*plot.Plot, error) {
	p := newLogarithmic(title, x, y)
	p.Y.Tick.Marker = logTimes{1e-3}
	p.marks(all.Name, logPoints(&all), greyMarks(2.5))
	if at := finite(logPoints(&front)); len(at) > 0 {
		line := p.line("", at, draw.LineStyle{Color: colour(1), Width: vg.Points(1)},
			plotter.PostStep)
		marks := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: colour(1),
			Radius: vg.Points(3.5), Shape: shape(1)}}
		p.Add(marks)
		p.Legend.Add(front.Name, line, marks)
	}
	beside := p.beside(8)
	for i, at := range logPoints(&front) {
		if plotter.CheckFloats(at.X, at.Y) == nil {
			beside.add(at, names[i])
		}
	}
	all.Missed = append(slices.Clone(all.Missed), make([]bool, len(all.X)-len(all.Missed))...)
	var missed plotter.XYs
	for i, at := range logPoints(&all) {
		if all.Missed[i] {
			missed = append(missed, at)
		}
	}
	p.marks("", missed, missedStyle())
	if at := math.Log10(limit); limit > 0 && at > p.Y.Min-0.5 && at < p.Y.Max+0.5 {
		p.limit(at, limitName)
	}
	p.missedKey([]Series{all})
	for _, axis := range []*plot.Axis{&p.X, &p.Y} { // a margin for names
		wide := max(axis.Max-axis.Min, 0.1)
		axis.Min, axis.Max = axis.Min-0.1*wide, axis.Max+0.1*wide
	}
	leaveRoom(p.Plot, 4)
	p.Legend.Top = true
	return p.done()
}

// Cloud draws points on logarithmic axes: the others small and grey, behind the series. Points with
// a value that is not positive are left out.
func Cloud(title, x, y string, others Series, series []Series) (*plot.Plot, error) {
	p := newLogarithmic(title, x, y)
	p.Legend.Top = true
	p.marks(others.Name, logPoints(&others), greyMarks(2))
	for i, s := range series {
		p.marks(s.Name, logPoints(&s), draw.GlyphStyle{Color: colour(i), Radius: vg.Points(4),
			Shape: shape(i + 1)})
	}
	p.Y.Max += 0.25 * (p.Y.Max - p.Y.Min) // room for the legend
	return p.done()
}

// greyMarks is the style of points that others stand out from.
func greyMarks(radius float64) draw.GlyphStyle {
	return draw.GlyphStyle{Color: color.Gray{0x90}, Radius: vg.Points(radius), Shape: shape(0)}
}

// on returns a series in the coordinates of axes that are logarithmic or not.
func (s Series) on(logX, logY bool) Series {
	if logX {
		s.X = logarithms(s.X)
	}
	if logY {
		s.Y = logarithms(s.Y)
	}
	return s
}

func logarithms(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Log10(v)
	}
	return list
}

func logPoints(s *Series) plotter.XYs {
	logarithmic := s.on(true, true)
	return points(&logarithmic)
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
// in their order. Their names are beside the last bar.
func Stacked(title, x, y string, names []string, stack []Series) (*plot.Plot, error) {
	return stacked(title, x, y, names, stack, stackColour)
}

// stacked draws bars as Stacked does. Shade returns the colour of a part by its place and name.
func stacked(title, x, y string, names []string, stack []Series,
	shade func(i int, name string) color.Color) (*plot.Plot, error) {
	p := &chart{Plot: newPlot(title, x, y)}
	p.Y.Min = 0
	var below *plotter.BarChart
	const wide = 40 // points
	ends, last, top := newEnds(p.Plot), max(0, len(names)-1), 0.0
	ends.half = vg.Points(wide / 2)
	for i, part := range stack {
		if len(part.Y) == 0 {
			continue
		}
		bars, err := plotter.NewBarChart(plotter.Values(part.Y), vg.Points(wide))
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = shade(i, part.Name), 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		last = max(last, len(part.Y)-1)
		high := 0.0 // of the last bar
		if last < len(part.Y) {
			high = part.Y[last]
		}
		ends.name(plotter.XY{X: float64(last), Y: top + high/2}, part.Name, bars.Color)
		top += high
	}
	nominalX(p.Plot, names)
	ends.add(p)
	leaveRoom(p.Plot, 1)
	return p.done()
}

// stackColour returns the colour of part i of a stack: greys where the others are used up.
func stackColour(i int, _ string) color.Color {
	if n := len(colours()); i >= n {
		return color.Gray{uint8(0x80 + 0x20*(i-n)%0x80)}
	}
	return colour(i)
}

const (
	// thinColumns is how many columns a picture can show: one for each point (1/72 inch) of Width,
	// which is how wide a line is. Finer columns would be drawn over each other.
	thinColumns = 510
	// pieceLength bounds the points that are stroked at once. The rasterizer keeps an unindexed
	// list of cells a row, so that the cost of one stroke is quadratic in how often it crosses a
	// row.
	pieceLength = 24
)

// downsample returns the points of a line that a picture can show: of each column the lowest and
// the highest, in the order of the line, beside the first point and the last. The points are in
// order of X.
func downsample(line plotter.XYs) plotter.XYs {
	if len(line) <= 2*thinColumns {
		return line
	}
	low := line[0].X
	width := (line[len(line)-1].X - low) / float64(thinColumns)
	kept := plotter.XYs{line[0]}
	for start := 1; start < len(line)-1; {
		column := math.Floor((line[start].X - low) / width)
		least, most, end := start, start, start+1
		for end < len(line)-1 && math.Floor((line[end].X-low)/width) == column {
			if line[end].Y < line[least].Y {
				least = end
			}
			if line[end].Y > line[most].Y {
				most = end
			}
			end++
		}
		kept = append(kept, line[min(least, most)])
		if least != most {
			kept = append(kept, line[max(least, most)])
		}
		start = end
	}
	return append(kept, line[len(line)-1])
}

// pieces cuts a line into lines that are stroked quickly. Each starts with the last point of the
// one before.
func pieces(line plotter.XYs) []plotter.XYs {
	var list []plotter.XYs
	for len(line) > pieceLength {
		list = append(list, line[:pieceLength:pieceLength])
		line = line[pieceLength-1:]
	}
	return append(list, line)
}
