package plots

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// shown is what a picture holds, in the order in which it is drawn.
type shown struct {
	*plot.Plot
	lines  []*plotter.Line
	marks  []*plotter.Scatter
	bars   []*plotter.BarChart
	areas  []*plotter.Polygon
	grids  int // before anything else
	names  *labels
	ends   *ends
	legend []string
}

// look returns what a picture holds. gonum keeps it to itself.
func look(t *rapid.T, p *plot.Plot, err error) *shown {
	t.Helper()
	testkit.OK(t, err)
	s := &shown{Plot: p}
	field := reflect.ValueOf(p).Elem().FieldByName("plotters")
	for _, one := range *(*[]plot.Plotter)(field.Addr().UnsafePointer()) {
		switch one := one.(type) {
		case *plotter.Line:
			s.lines = append(s.lines, one)
		case *plotter.Scatter:
			s.marks = append(s.marks, one)
		case *plotter.BarChart:
			s.bars = append(s.bars, one)
		case *plotter.Polygon:
			s.areas = append(s.areas, one)
		case *labels:
			s.names = one
		case *ends:
			s.ends = one
		case *plotter.Grid:
			if len(s.lines)+len(s.marks)+len(s.bars)+len(s.areas) == 0 {
				s.grids++
			}
		}
	}
	entries := reflect.ValueOf(p).Elem().FieldByName("Legend").FieldByName("entries")
	for i := range entries.Len() {
		s.legend = append(s.legend, entries.Index(i).FieldByName("text").String())
	}
	return s
}

// Every picture but stacks has a grid behind its data, in the common letters.
func TestGridsAreBehindTheData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []Series{{Name: "a", X: []float64{1, 2}, Y: []float64{3, 4}},
			{Name: "b", X: []float64{1, 2}, Y: []float64{3, 4}}}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(pictures()))).Draw(t, "picture")
		p, err := pictures()[name](list)
		s := look(t, p, err)
		if stack := name == "Stacked" || name == "StepParts"; (s.grids == 1) == stack {
			t.Errorf("%s has %d grids", name, s.grids)
		}
		if p.X.Label.Text == "" || p.Y.Label.Text == "" || p.Title.Text == "" {
			t.Errorf("%s does not say what it shows", name)
		}
	})
}

// holds fails the test unless the points are the wanted ones, and the axes cover them.
func (s *shown) holds(t *rapid.T, what string, got, want plotter.XYs) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
	for i := range want {
		if !near(got[i].X, want[i].X) || !near(got[i].Y, want[i].Y) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
		if a := got[i]; a.X < s.X.Min-1e-9 || a.X > s.X.Max+1e-9 || a.Y < s.Y.Min-1e-9 ||
			a.Y > s.Y.Max+1e-9 {
			t.Errorf("%s: %v is outside of the axes, %g to %g and %g to %g", what, a, s.X.Min,
				s.X.Max, s.Y.Min, s.Y.Max)
		}
	}
}

// leaves fails the test unless the lines of a legend, each a twentieth of the picture, stand above
// top, and take half of it at most.
func (s *shown) leaves(t *rapid.T, lines int, top float64) {
	t.Helper()
	want := min(0.5, float64(lines)/20)
	if got := (s.Y.Max - top) / (s.Y.Max - s.Y.Min); math.Abs(got-want) > 1e-6 {
		t.Errorf("%g of the axis from %g to %g is above %g, want %g for %d lines", got, s.Y.Min,
			s.Y.Max, top, want, lines)
	}
}

// named fails the test unless the legend has exactly these names.
func (s *shown) named(t *rapid.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.legend, want) {
		t.Errorf("the legend is %q, want %q", s.legend, want)
	}
}

// drawSeries draws series of positive figures over different ranges.
func drawSeries(t *rapid.T, least, most int) []Series {
	list := make([]Series, rapid.IntRange(least, most).Draw(t, "series"))
	figure := rapid.SampledFrom(rapid.SampledFrom([][]float64{{0.5, 1, 2, 5, 16, 17, 100},
		{0.5, 0.5, 1, 1, 1, 100}, {0.01, 1}}).Draw(t, "figures"))
	for i := range list {
		s := &list[i]
		s.Name = fmt.Sprint("series ", i)
		for range rapid.IntRange(1, 4).Draw(t, "points") {
			s.X, s.Y = append(s.X, figure.Draw(t, "x")), append(s.Y, figure.Draw(t, "y"))
			s.Missed = append(s.Missed, rapid.Bool().Draw(t, "missed"))
		}
	}
	return list
}

// pointsAt returns the points of a series, at functions of their figures.
func pointsAt(s *Series, x, y func(float64) float64) plotter.XYs {
	list := make(plotter.XYs, len(s.X))
	for i := range list {
		list[i] = plotter.XY{X: x(s.X[i]), Y: y(s.Y[i])}
	}
	return list
}

func same(x float64) float64 { return x }

// Curves, trade-offs and growth have a line with marks through the points of each series, in a
// colour and shape of its own, crosses where the SLO is missed, names where there are several, a
// limit that is not far above all, and room for names beside the data. A horizontal axis is
// logarithmic where more than half of the values are within an eighth of the largest, a vertical
// one of a trade-off where the values go over more than two decades.
func TestCurvesShowTheirSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawSeries(t, 1, 12)
		c := Curves{Title: "title", X: "x", Y: "y", Series: list, LimitName: "limit",
			Limit:  rapid.SampledFrom([]float64{0, 0.7, 3, 1001}).Draw(t, "limit"),
			Points: rapid.Bool().Draw(t, "points only")}
		kind := rapid.SampledFrom([]string{"curves", "trade-off", "growth"}).Draw(t, "kind")
		most, all, crowd, missed := 0.0, []float64{}, 0, false
		for _, s := range list {
			most, all = max(most, slices.Max(s.Y)), append(all, s.X...)
			missed = missed || slices.Contains(s.Missed, true)
		}
		for _, x := range all {
			if x <= slices.Max(all)/8 {
				crowd++
			}
		}
		x, y, limit, least := same, same, c.Limit > 0 && c.Limit < 10*most, 0
		var p *plot.Plot
		var err error
		switch kind {
		case "curves":
			p, err = c.Draw()
			if len(all) > 2 && crowd > len(all)/2 {
				x = math.Log10
			}
		case "trade-off":
			p, err = Tradeoff("title", "x", "y", list, c.Limit, c.LimitName)
			low, high := math.Pow(10, bottomOf(list)), math.Pow(10, topOf(list))
			c.Points, limit = false, c.Limit > low/10*(1+1e-9) && c.Limit < 10*high*(1-1e-9)
			if high > 100*low*(1+1e-9) {
				y, least = math.Log10, -1
			}
		case "growth":
			p, err = Growth("title", "x", "y", list)
			x, y, c.Points, missed, limit, least = math.Log10, math.Log10, false, false, false, -1
		}
		s, names, marks, lines := look(t, p, err), []string{}, 0, 0
		top := -9.0
		for i := range list {
			one := &list[i]
			want := pointsAt(one, x, y)
			for _, xy := range want {
				top = max(top, xy.Y)
			}
			if !c.Points {
				line := s.lines[lines]
				s.holds(t, one.Name, line.XYs, want)
				if line.Color != colour(i) {
					t.Errorf("line %d is %v", i, line.Color)
				}
				lines++
			}
			s.holds(t, one.Name, s.marks[marks].XYs, want)
			if g := s.marks[marks].GlyphStyle; g.Color != colour(i) || g.Shape != shape(i) {
				t.Errorf("marks %d are %v", i, g)
			}
			marks++
			var crosses plotter.XYs
			for k, is := range one.Missed {
				if is {
					crosses = append(crosses, want[k])
				}
			}
			if kind != "growth" && len(crosses) > 0 {
				s.holds(t, "missed", s.marks[marks].XYs, crosses)
				if g := s.marks[marks].GlyphStyle; g.Color != limitColour() {
					t.Errorf("a miss is %v", g)
				}
				marks++
			}
			if (len(list) > 1 || kind == "growth") && (i < 10 || kind == "growth") {
				names = append(names, one.Name)
			}
		}
		if least == 0 && y(2) == 2 {
			top = max(top, 0)
		}
		if limit {
			s.holds(t, "limit", s.lines[lines].XYs[:1],
				plotter.XYs{{X: s.lines[lines].XYs[0].X, Y: y(c.Limit)}})
			if l := s.lines[lines]; l.XYs[1].Y != l.XYs[0].Y || l.XYs[1].X-l.XYs[0].X <
				x(slices.Max(all))-x(slices.Min(all)) || l.Color != limitColour() {
				t.Errorf("the limit is %v", l)
			}
			lines, names, top = lines+1, append(names, "limit"), max(top, y(c.Limit))
		}
		var legend []string
		if missed {
			legend = append(legend, "misses the SLO")
		}
		s.beside(t, names)
		if s.named(t, legend...); len(s.lines) != lines || len(s.marks) != marks {
			t.Errorf("%d lines and %d marks, want %d and %d", len(s.lines), len(s.marks), lines,
				marks)
		}
		switch kind {
		case "curves", "trade-off":
			s.leaves(t, map[bool]int{true: 1}[missed]+1, top)
		case "growth":
			s.leaves(t, 1, max(math.Ceil(top), math.Floor(bottomOf(list))+1))
		}
		if missed && !(s.Legend.Top && s.Legend.Left) {
			t.Error("the legend is not at the top left, where no names of lines stand")
		}
	})
}

// beside fails the test unless these names are beside the data, those of lines where they end.
func (s *shown) beside(t *rapid.T, want []string) {
	t.Helper()
	var found []string
	if s.names != nil {
		found = append(found, s.names.names...)
	}
	if s.ends != nil {
		found = append(found, s.ends.names...)
		if s.X.Max <= s.ends.edge {
			t.Errorf("there is no room for names up to %g, from %g on", s.X.Max, s.ends.edge)
		}
		for _, tick := range s.X.Tick.Marker.Ticks(s.X.Min, s.X.Max) {
			if tick.Value > s.ends.edge+1e-6 {
				t.Errorf("a mark at %g is beyond the data, %g", tick.Value, s.ends.edge)
			}
		}
	}
	slices.Sort(found)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(found, want) {
		t.Errorf("the names are %q, want %q", found, want)
	}
}

// topOf returns the logarithm of the largest vertical value.
func topOf(list []Series) float64 {
	top := math.Inf(-1)
	for _, s := range list {
		top = max(top, math.Log10(slices.Max(s.Y)))
	}
	return top
}

// bottomOf returns the logarithm of the smallest vertical value.
func bottomOf(list []Series) float64 {
	bottom := math.Inf(1)
	for _, s := range list {
		bottom = min(bottom, math.Log10(slices.Min(s.Y)))
	}
	return bottom
}

// Clouds, fronts, errors, distributions and timelines show each of their points, those of a front
// are joined, and errors are as far from zero on both sides.
func TestCloudsShowTheirPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawSeries(t, 2, 4)
		n := len(list)
		names := func(list []Series) (all []string) {
			for _, s := range list {
				all = append(all, s.Name)
			}
			return all
		}
		p, err := Cloud("title", "x", "y", list[0], list[1:])
		s := look(t, p, err)
		top, bottom := math.Inf(-1), math.Inf(1)
		for i := range list {
			want := pointsAt(&list[i], math.Log10, math.Log10)
			s.holds(t, "cloud", s.marks[i].XYs, want)
			for _, at := range want {
				top, bottom = max(top, at.Y), min(bottom, at.Y)
			}
			if i > 0 && (s.marks[i].GlyphStyle.Color != colour(i-1) ||
				s.marks[i].GlyphStyle.Radius <= s.marks[0].GlyphStyle.Radius ||
				s.marks[i].GlyphStyle.Shape != shape(i)) {
				t.Errorf("series %d is drawn as %v", i, s.marks[i].GlyphStyle)
			}
		}
		s.named(t, names(list)...)
		if math.Abs(s.Y.Max-top-(top-bottom)/4) > 1e-9 || !s.Legend.Top {
			t.Errorf("the axis ends at %g, with points from %g to %g", s.Y.Max, bottom, top)
		}

		of := make([]string, len(list[1].X))
		for i := range of {
			of[i] = fmt.Sprint("point ", i)
		}
		p, err = Front("title", "x", "y", list[0], list[1], of, 0, "")
		s = look(t, p, err)
		s.holds(t, "all", s.marks[0].XYs, pointsAt(&list[0], math.Log10, math.Log10))
		want := pointsAt(&list[1], math.Log10, math.Log10)
		s.holds(t, "front", s.marks[1].XYs, want)
		s.holds(t, "front", s.lines[0].XYs, want)
		legend := []string{"series 0", "series 1"}
		if slices.Contains(list[0].Missed, true) {
			legend = append(legend, "misses the SLO")
		}
		if s.named(t, legend...); s.lines[0].StepStyle != plotter.PostStep ||
			s.lines[0].Color != s.marks[1].Color || s.lines[0].Color != colour(1) ||
			s.marks[1].Shape == s.marks[0].Shape || s.marks[1].Shape != shape(1) ||
			!s.Legend.Top || len(s.names.names) != len(want) {
			t.Errorf("the front is %v, on axes to %g and %g", s.lines[0], s.X.Max, s.Y.Max)
		}
		s.holds(t, "names", s.names.at, want)
		left, right := math.Inf(1), math.Inf(-1)
		for _, at := range append(slices.Clone(s.marks[0].XYs), want...) {
			left, right = min(left, at.X), max(right, at.X)
		}
		if margin := max(right-left, 0.1) / 10; math.Abs(s.X.Min-left+margin) > 1e-9 ||
			math.Abs(s.X.Max-right-margin) > 1e-9 {
			t.Errorf("points from %g to %g are on an axis from %g to %g", left, right, s.X.Min,
				s.X.Max)
		}

		most := 0.0
		p, err = Errors("title", "x", list)
		s = look(t, p, err)
		for i := range list {
			s.holds(t, "errors", s.marks[i].XYs, pointsAt(&list[i], math.Log10, same))
			most = max(most, slices.Max(list[i].Y))
			if s.marks[i].Color != colour(i) || s.marks[i].Shape != shape(i) {
				t.Errorf("errors %d are %v", i, s.marks[i].GlyphStyle)
			}
		}
		if s.named(t, names(list)...); s.Y.Min != -s.Y.Max || s.Y.Max >= most+10 ||
			math.Mod(s.Y.Max, 10) != 0 || !s.Legend.Top {
			t.Errorf("the axis goes from %g to %g for errors of up to %g", s.Y.Min, s.Y.Max, most)
		}

		p, err = Timeline("title", "y", append(list, Series{Name: "empty"}))
		s = look(t, p, err)
		for i := range n {
			s.holds(t, "timeline", s.lines[i].XYs, pointsAt(&list[i], same, same))
			if s.lines[i].Color != colour(i) || len(s.lines[i].Dashes) != len(dashes(i)) {
				t.Errorf("line %d is %v", i, s.lines[i].LineStyle)
			}
		}
		s.named(t, names(list)...)
		s.leaves(t, 4, most)

		samples := []Sample{{Name: "none", Values: []float64{0, -1}}}
		for _, one := range list {
			samples = append(samples, Sample{one.Name, append(slices.Clone(one.Y), 0)})
		}
		p, err = Overlay("title", "x", samples)
		s = look(t, p, err)
		for i := range list {
			sorted := slices.Sorted(slices.Values(list[i].Y))
			want := plotter.XYs{}
			for k, v := range sorted { // the first of the values is 0, and left out
				want = append(want, plotter.XY{X: math.Log10(v),
					Y: float64(k+2) / float64(len(sorted)+1)})
			}
			s.holds(t, "distribution", s.lines[i].XYs, want)
			if s.lines[i].Color != colour(i+1) || s.lines[i].StepStyle != plotter.PostStep {
				t.Errorf("distribution %d is %v", i, s.lines[i])
			}
		}
		if s.named(t, names(list)...); s.Y.Min != 0 || s.Y.Max != 1 {
			t.Errorf("shares go from %g to %g", s.Y.Min, s.Y.Max)
		}
	})
}

// Predictions are over measurements on equal axes that cover both with a margin; the diagonal is
// where they are equal, and more points are smaller.
func TestAccuracyIsOnEqualAxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawSeries(t, 1, 3)
		a := Accuracy{Title: "title", Unit: "ms",
			Diagonal: rapid.SampledFrom([]string{"", "law"}).Draw(t, "diagonal")}
		low, high := math.Inf(1), 0.0
		for i, s := range list {
			one := AccuracySeries{Name: s.Name, Measured: s.X, Predicted: s.Y, Hollow: i == 1}
			if i == 0 {
				for k := range s.X {
					one.Labels = append(one.Labels, fmt.Sprint("point ", k))
				}
			}
			if i == 2 {
				one.Colour = color.Black
			}
			a.Series = append(a.Series, one)
			low = min(low, slices.Min(s.X), slices.Min(s.Y))
			high = max(high, slices.Max(s.X), slices.Max(s.Y))
		}
		p, err := a.Draw()
		s := look(t, p, err)
		if s.X.Min != s.Y.Min || s.X.Max != s.Y.Max ||
			math.Abs(s.X.Min-math.Log10(low/1.5)) > 1e-9 ||
			math.Abs(s.X.Max-math.Log10(high*1.5)) > 1e-9 || !s.Legend.Top || !s.Legend.Left {
			t.Errorf("axes %v and %v of figures from %g to %g", s.X, s.Y, low, high)
		}
		s.holds(t, "diagonal", s.lines[0].XYs, plotter.XYs{{X: s.X.Min, Y: s.Y.Min},
			{X: s.X.Max, Y: s.Y.Max}})
		names := []string{"equal; ±10 % shaded"}
		if a.Diagonal != "" {
			names[0] = a.Diagonal
		} else {
			for i, by := range []float64{0.9, 1.1, 1.1, 0.9} {
				if xy := s.areas[0].XYs[0][i]; math.Abs(xy.Y-xy.X-math.Log10(by)) > 1e-9 {
					t.Errorf("a corner of the band is %v, want a factor of %g", xy, by)
				}
			}
		}
		if (len(s.areas) > 0) != (a.Diagonal == "") {
			t.Errorf("%d bands of %q", len(s.areas), a.Diagonal)
		}
		for i := range list {
			s.holds(t, "points", s.marks[i].XYs, pointsAt(&list[i], math.Log10, math.Log10))
			names = append(names, list[i].Name)
			_, ring := s.marks[i].Shape.(draw.RingGlyph)
			if ring != (i == 1) || i < 2 && s.marks[i].Color != colour(i) ||
				i == 2 && s.marks[i].Color != color.Black {
				t.Errorf("points %d are %v", i, s.marks[i].GlyphStyle)
			}
		}
		s.named(t, names...)
		first := pointsAt(&list[0], math.Log10, math.Log10)
		if s.holds(t, "names", s.names.at, first); s.names.names[0] != "point 0" ||
			len(s.names.names) != len(first) {
			t.Errorf("names are %q", s.names.names)
		}
		if len(list) > 1 {
			s.holds(t, "rings", s.names.rings, pointsAt(&list[1], math.Log10, math.Log10))
		}
	})
	for n, smaller := range map[int]int{100: 101, 1000: 1001} {
		if radius(n) <= radius(smaller) || radius(smaller) != radius(smaller+10) {
			t.Errorf("%d points are of %v, %d of %v", n, radius(n), smaller, radius(smaller))
		}
	}
	if low, high := (&Accuracy{}).span(); low*high != 1 || high/low != 100 {
		t.Errorf("without figures the axes go from %g to %g", low, high)
	}
}

// Bars stand on each other: the last one ends at the sum of all parts, in colours that differ.
func TestStacksAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bars, parts := rapid.IntRange(1, 4).Draw(t, "bars"), rapid.IntRange(1, 9).Draw(t, "parts")
		sums, stack, names := make([]float64, bars), []Series{}, []string{}
		for i := range parts {
			s := Series{Name: fmt.Sprint("part ", i)}
			for k := range bars {
				s.Y = append(s.Y, float64(rapid.IntRange(0, 9).Draw(t, "value")))
				sums[k] += s.Y[k]
			}
			stack, names = append(stack, s), append(names, s.Name)
		}
		sums[0]++
		stack[0].Y[0]++
		p, err := Stacked("title", "x", "y", names[:min(bars, parts)], append(stack,
			Series{Name: "empty"}))
		s := look(t, p, err)
		seen := map[color.Color]bool{}
		for i, b := range s.bars {
			seen[b.Color] = true
			if i == parts-1 {
				for k, want := range sums {
					if b.BarHeight(k) != want {
						t.Errorf("bar %d is %g high, want %g", k, b.BarHeight(k), want)
					}
				}
			}
		}
		s.beside(t, names)
		if s.named(t); len(s.bars) != parts || len(seen) != parts || s.Y.Min != 0 {
			t.Errorf("%d bars in %d colours, want %d", len(s.bars), len(seen), parts)
		}
		s.leaves(t, 1, slices.Max(sums))
		for i, at := range s.ends.at { // at the middle of its part of the last bar
			sum := 0.0
			for _, below := range stack[:i] {
				sum += below.Y[bars-1]
			}
			if at.X != float64(bars-1) || at.Y != sum+stack[i].Y[bars-1]/2 {
				t.Errorf("the name of part %d is at %v", i, at)
			}
		}
	})
}

// The parts of steps make a stack for each batch that fits, whose sum is the step.
func TestStepPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []page.PartTime
		sums := map[string]float64{}
		most := 0.0
		room := rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "room")
		for _, batch := range []int{1, 4, 16} {
			fits := batch <= room
			for _, name := range []string{steptime.ReadingWeights.String(),
				steptime.ReadingKV.String(), steptime.OnHost.String()} {
				if time := float64(rapid.IntRange(0, 9).Draw(t, "time")); time > 0 {
					parts = append(parts, page.PartTime{Batch: batch, Name: name, Time: time,
						Fits: fits})
					if fits {
						sums[strconv.Itoa(batch)] += time
						most = max(most, sums[strconv.Itoa(batch)])
					}
				}
			}
		}
		batches, stack := stepStack(parts)
		if len(batches) != len(sums) {
			t.Fatalf("bars %v, want %v", batches, sums)
		}
		p, err := StepParts(parts)
		s := look(t, p, err)
		for k, batch := range batches {
			sum := 0.0
			for _, one := range stack {
				sum += one.Y[k]
			}
			if top := s.bars[len(s.bars)-1].BarHeight(k); sum != sums[batch] || top != sum {
				t.Errorf("batch %s: parts of %g, drawn to %g, want %g", batch, sum, top,
					sums[batch])
			}
		}
		if no := strings.Contains(p.Title.Text, "no room"); no != (len(sums) == 0) {
			t.Errorf("%q of %v", p.Title.Text, sums)
		}
		if len(sums) > 0 {
			s.leaves(t, 1, most)
		}
		if s.Y.Min != 0 {
			t.Errorf("the axis begins at %g", s.Y.Min)
		}
	})
}

// A distribution of latencies rises to all requests that have one, in a colour of its own; a limit
// is an upright line at its time in that colour, where the latency is drawn.
func TestLatenciesRiseToAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var requests []page.Request
		figure := rapid.SampledFrom([]float64{0, 0.01, 0.02, 0.5})
		for range rapid.IntRange(1, 9).Draw(t, "requests") {
			requests = append(requests, page.Request{TPOT: figure.Draw(t, "tpot"),
				TTFT: 0.1, E2E: 3})
		}
		r := &scenarios.Result{}
		limits := map[int]sim.Time{}
		for i, l := range []*scenarios.Limits{&r.SLO.TPOT, &r.SLO.TTFT, &r.SLO.E2E} {
			if rapid.Bool().Draw(t, "limit") {
				limits[i] = sim.Time(i+1) * sim.Second / 10
				l.Request = scenarios.Span(limits[i])
			}
		}
		lines := sloLines(page.NewLimits(r))
		p, err := Latencies(requests, lines)
		s := look(t, p, err)
		names, k := []string{}, 0
		for i, c := range latencyCurves(requests) {
			if len(c.X) == 0 {
				delete(limits, i)
				continue
			}
			line := s.lines[k]
			s.holds(t, c.Name, line.XYs, pointsAt(&c, math.Log10, same))
			last := line.XYs[len(line.XYs)-1]
			if !slices.IsSorted(c.X) || last.Y != 1 || line.XYs[0].Y*float64(len(c.X)) != 1 ||
				line.Color != colour(i) || len(line.Dashes) != len(dashes(i)) {
				t.Errorf("%s: %v in %v", c.Name, line.XYs, line.Color)
			}
			names, k = append(names, c.Name), k+1
		}
		if s.named(t); len(s.lines) != k+len(limits) || s.Y.Min != 0 || s.Y.Max > 1.2 ||
			!slices.Equal(s.names.names[:k], names) || len(s.names.names) != len(s.lines) {
			t.Errorf("%d lines for %d latencies and %v, up to %g", len(s.lines), k, limits,
				s.Y.Max)
		}
		for _, l := range s.lines[k:] {
			i := slices.IndexFunc([]int{0, 1, 2}, func(i int) bool { return l.Color == colour(i) })
			at := math.Log10(limits[i].Seconds())
			s.holds(t, "SLO", l.XYs, plotter.XYs{{X: at, Y: 0}, {X: at, Y: 1.08}})
			if len(l.Dashes) != 2 {
				t.Errorf("the limit is drawn with dashes %v", l.Dashes)
			}
		}
		for i, tick := range s.Y.Tick.Marker.Ticks(0, 1) {
			if tick.Label != fmt.Sprint(100*tick.Value) || tick.Value != float64(i)/4 {
				t.Errorf("%g is labelled %q", tick.Value, tick.Label)
			}
		}
		r.ClassSLOs = map[string]scenarios.SLO{"a": {Percentile: 5}}
		if r.ByClass() && len(sloLines(page.NewLimits(r))) > 0 {
			t.Error("limits of classes are drawn for all")
		}
	})
}

// The state of a fleet is drawn at its times, in a unit that suits them, from 0 on; a memory that
// is half full shows where it ends.
func TestStateIsOnItsAxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom([]float64{1, 5, 700, 9000}).Draw(t, "length")
		kv := rapid.SampledFrom([]float64{0.2, 0.5, 0.51, 1}).Draw(t, "kv")
		var state []page.Point
		for i := range 3 {
			state = append(state, page.Point{At: length * float64(i) / 2, Running: 3 * i,
				Waiting: 4 - i, KV: kv * float64(i) / 2,
				Up: 2 + rapid.IntRange(0, 1).Draw(t, "up")})
		}
		unit, by := TimeUnit(length)
		queue, memory, err := State(state)
		q, m := look(t, queue, err), look(t, memory, err)
		replicas, err := Replicas(state)
		u := look(t, replicas, err)
		at := func(value func(*page.Point) float64) (list plotter.XYs) {
			for i := range state {
				list = append(list, plotter.XY{X: state[i].At / by, Y: value(&state[i])})
			}
			return list
		}
		up := at(func(p *page.Point) float64 { return float64(p.Up) })
		q.holds(t, "running", q.lines[0].XYs, at(func(p *page.Point) float64 {
			return float64(p.Running)
		}))
		q.holds(t, "waiting", q.lines[1].XYs, at(func(p *page.Point) float64 {
			return float64(p.Waiting)
		}))
		m.holds(t, "memory", m.lines[0].XYs, at(func(p *page.Point) float64 { return 100 * p.KV }))
		u.holds(t, "replicas", u.lines[0].XYs, up)
		q.leaves(t, 3, 6)
		q.named(t, "in a batch", "waiting")
		end := kv > 0.5
		if (len(m.lines) == 2) != end || m.Y.Min != 0 || u.Y.Min != 0 {
			t.Errorf("%d lines of a memory that is used to %g", len(m.lines), kv)
		}
		if end {
			m.leaves(t, 2, 100)
			m.holds(t, "end", m.lines[1].XYs, plotter.XYs{{X: 0, Y: 100}, {X: length / by, Y: 100}})
		}
		top := max(state[0].Up, state[1].Up, state[2].Up)
		if page.Scales(state) != (state[0].Up != state[1].Up || state[0].Up != state[2].Up) ||
			u.Y.Max != float64(top)+1 || u.lines[0].StepStyle != plotter.PostStep ||
			u.lines[0].Color == q.lines[0].Color {
			t.Errorf("replicas of %v up to %g", state, u.Y.Max)
		}
		for _, p := range []*plot.Plot{queue, memory, replicas} {
			if p.X.Label.Text != "time ("+unit+")" {
				t.Errorf("%q of %g s", p.X.Label.Text, length)
			}
		}
	})
}

// No step is above the roof, which rises with the bandwidth to the ridge and is level beyond it; a
// step that does not fit is grey, and operators are smaller than their step.
func TestStepsAreUnderTheRoof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &report.Roofline{Model: "m", Accelerator: "a", Peak: 1e15, Bandwidth: 1e12,
			Ridge: 1000}
		intensity := rapid.SampledFrom([]float64{1, 30, 999, 5000})
		for i := range rapid.IntRange(1, 4).Draw(t, "steps") {
			point := report.RooflinePoint{Intensity: intensity.Draw(t, "x"), FLOPs: 1, Bytes: 1,
				Time: 1}
			point.Rate = min(r.Peak, point.Intensity*r.Bandwidth) / 2
			step := report.RooflineStep{RooflinePoint: point, Fits: i != 1, Tokens: i,
				Phase: []string{"prefill", "decode"}[i%2]}
			step.Operators = []report.RooflinePoint{point, {Intensity: 1}} // one has no place
			r.Steps = append(r.Steps, step)
		}
		low, high := r.Span()
		p, err := Roofline(r)
		s := look(t, p, err)
		tera := func(x float64) float64 { return math.Log10(x / 1e12) }
		s.holds(t, "roof", s.lines[1].XYs, plotter.XYs{
			{X: math.Log10(low), Y: tera(low * r.Bandwidth)}, {X: 3, Y: 3},
			{X: math.Log10(high), Y: 3}})
		if ridge := s.lines[0].XYs; ridge[0].X != 3 || ridge[1].X != 3 || ridge[1].Y != 3 ||
			ridge[0].Y >= 3 || len(s.lines[0].Dashes) != 2 {
			t.Errorf("the ridge is %v", ridge)
		}
		if math.Abs(s.Y.Max-tera(2*r.Peak)) > 1e-9 ||
			math.Abs(s.Y.Min-tera(low*r.Bandwidth/10)) > 1e-9 || len(s.marks) != 2*len(r.Steps) {
			t.Errorf("the axis goes from %g to %g, with %d marks", s.Y.Min, s.Y.Max, len(s.marks))
		}
		names := slices.Clone(s.legend[:2])
		for i, step := range r.Steps {
			want := plotter.XYs{logXY(step.Intensity, step.Rate/1e12)}
			small, whole := s.marks[2*i], s.marks[2*i+1]
			s.holds(t, "operators", small.XYs, want)
			s.holds(t, "step", whole.XYs, want)
			if small.Radius >= whole.Radius || small.Color != whole.Color ||
				(whole.Color == colour(i)) != step.Fits || whole.Shape != shape(i) {
				t.Errorf("step %d is %v", i, whole.GlyphStyle)
			}
			words := fmt.Sprintf("prefill of %d tokens", i)
			if i%2 == 1 {
				words = fmt.Sprintf("decode, batch %d", i)
			}
			if !step.Fits {
				words += " (does not fit)"
			}
			names = append(names, words)
		}
		s.named(t, names...)
	})
}

// The colours are those that Okabe and Ito publish, without black and yellow; as many series as
// there are colours times shapes look different.
func TestSeriesLookDifferent(t *testing.T) {
	published := []int{0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x333333}
	for i, want := range published {
		r, g, b, a := colour(i).RGBA()
		if got := int(r>>8)<<16 | int(g>>8)<<8 | int(b>>8); got != want || a != 0xffff {
			t.Errorf("colour %d is %06x with alpha %x, want %06x", i, got, a, want)
		}
	}
	seen := map[string]bool{}
	for i := range 49 {
		seen[fmt.Sprintf("%v %T", colour(i), shape(i))] = true
	}
	if len(seen) != 49 {
		t.Errorf("%d of 49 series look different", len(seen))
	}
	seen = map[string]bool{}
	for i := range 4 {
		seen[fmt.Sprint(dashes(i))] = true
	}
	if len(seen) != 4 || len(dashes(0)) != 0 || fmt.Sprint(dashes(5)) != fmt.Sprint(dashes(1)) {
		t.Errorf("dashes %v", seen)
	}
}

// Titles are broken between words, into lines that fit and could not take another word.
func TestTitlesAreBroken(t *testing.T) {
	style := newPlot("", "", "").Title.TextStyle
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,12}`), 1, 30).Draw(t, "words")
		text, width := strings.Join(words, " "), vg.Length(rapid.IntRange(60, 400).Draw(t, "width"))
		breakLines(&text, style, width)
		if got := strings.Fields(text); !slices.Equal(got, words) {
			t.Fatalf("%q of %q", got, words)
		}
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if strings.Contains(line, " ") && style.Width(line) > width || line !=
				strings.TrimSpace(line) {
				t.Errorf("%q is wider than %v", line, width)
			}
			if i > 0 {
				first, _, _ := strings.Cut(line, " ")
				if style.Width(lines[i-1]+" "+first) <= width {
					t.Errorf("%q has room for %q", lines[i-1], first)
				}
			}
		}
	})
}

// A slide is 16:9 and 1,920 pixels wide, a print half a page at 200 dots an inch; letters are
// larger the more they say, and the same on both.
func TestSizesOfPictures(t *testing.T) {
	for style, want := range map[Style]image.Point{Slide: {1920, 1081}, Print: {1417, 906}} {
		dir := t.TempDir()
		p := newPlot(strings.Repeat("a long title ", 20), "x", "y")
		testkit.OK(t, style.Save(dir, "one", p))
		picture, err := png.Decode(bytes.NewReader(testkit.Read(t, filepath.Join(dir, "one.png"))))
		testkit.OK(t, err)
		if got := picture.Bounds().Size(); max(got.X-want.X, want.X-got.X) > 2 ||
			max(got.Y-want.Y, want.Y-got.Y) > 2 {
			t.Errorf("%s is of %v, want %v", style, got, want)
		}
		width, _, _ := style.size()
		for line := range strings.SplitSeq(p.Title.Text, "\n") {
			if w := p.Title.TextStyle.Width(line); (width-w)/2+1.2*w > width {
				t.Errorf("%s: %q in wider letters is cut at the picture's edge", style, line)
			}
		}
		entries, err := os.ReadDir(dir)
		testkit.OK(t, err)
		if len(entries) != 2 {
			t.Errorf("%d files", len(entries))
		}
	}
	p := newPlot("", "", "")
	if p.BackgroundColor != color.White {
		t.Errorf("the ground is %v", p.BackgroundColor)
	}
	if a, b, c := p.Title.TextStyle.Font.Size, p.X.Label.TextStyle.Font.Size,
		p.X.Tick.Label.Font.Size; a <= b || b <= c || p.Y.Label.TextStyle.Font.Size != b ||
		p.Y.Tick.Label.Font.Size != c || p.Legend.TextStyle.Font.Size != c {
		t.Errorf("letters of %v, %v and %v points", a, b, c)
	}
}

// A picture of few colours has each pixel in five bits a channel; one of more has no palette.
func TestPaletteKeepsPixels(t *testing.T) {
	for _, colours := range []int{1, 256, 257} {
		full := image.NewRGBA(image.Rect(0, 0, 20, 15))
		for i := range 300 {
			k := i % colours
			full.SetRGBA(i%20, i/20, color.RGBA{uint8(k%32) << 3, uint8(k/32) << 3, 0x80, 0xff})
		}
		few := indexed(full)
		if (few == nil) != (colours > 256) {
			t.Fatalf("%d colours: %v", colours, few)
		}
		for i := range full.Pix {
			if few == nil || i%4 == 3 {
				continue
			}
			x, y := i/4%20, i/4/20
			r, g, b, _ := few.At(x, y).RGBA()
			got := []uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}[i%4]
			if got>>3 != full.Pix[i]>>3 || got&7 != got>>5 {
				t.Fatalf("pixel %d,%d is %v, want %v", x, y, few.At(x, y), full.At(x, y))
			}
		}
	}
}

// A name stands beside its point, within the picture, clear of all that is there; a few of them are
// no further away than their letters are high.
func TestNamesStandClear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw.NewCanvas(vgimg.New(400, 300), 400, 300)
		l := newLabels(newPlot("", "", ""))
		height := l.style.Font.Size
		n := rapid.IntRange(1, 12).Draw(t, "points")
		side := vg.Length(rapid.SampledFrom([]int{10, 60, 300}).Draw(t, "side"))
		var points []vg.Point
		var taken []vg.Rectangle
		for range n {
			at := vg.Point{X: vg.Length(rapid.Float64Range(0, 1).Draw(t, "x")) * side,
				Y: vg.Length(rapid.Float64Range(0, 1).Draw(t, "y")) * side}
			points, taken = append(points, at), append(taken,
				rectangle(at.Sub(vg.Point{X: 2.5, Y: 2.5}), 5, 5))
		}
		for i, at := range points {
			name := rapid.StringMatching(`[a-z]{3,20}`).Draw(t, "name")
			room := l.place(c, at, name, taken, taken[n:])
			end := nearest(room, at)
			far := math.Hypot(float64(end.X-at.X), float64(end.Y-at.Y))
			if size := room.Size(); math.Abs(float64(size.X-l.style.Width(name))) > 1e-9 ||
				math.Abs(float64(size.Y-height)) > 1e-9 {
				t.Errorf("%q has a room of %v", name, size)
			}
			if n <= 4 && (!c.Contains(room.Min) || !c.Contains(room.Max) || !free(room, taken)) {
				t.Errorf("%q of %v is at %v, with %v taken", name, at, room, taken)
			}
			if far < 2.5 || n == 1 && far > float64(height) || far > 15*float64(height) {
				t.Errorf("name %d is %g from its point", i, far)
			}
			taken = append(taken, room)
		}
	})
}
