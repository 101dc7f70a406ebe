package plots

import (
	"bytes"
	"image/png"
	"math"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

// Whatever finite figures a picture gets, from none to equal ones to those twelve orders apart, it
// is drawn: its axes are finite, and neighbouring labels differ.
func TestPicturesOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, p, err := picture(t)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkDrawn(t, name, p) // which gives empty axes an extent
		for _, axis := range []*plot.Axis{&p.X, &p.Y} {
			checkAxis(t, name, axis)
		}
	})
}

// picture draws one of the pictures with random figures.
func picture(t *rapid.T) (string, *plot.Plot, error) {
	list := func(label string) []Series {
		series := make([]Series, rapid.IntRange(0, 12).Draw(t, label))
		for i := range series {
			n := rapid.IntRange(0, 6).Draw(t, "points")
			series[i] = Series{Name: "a series", X: figures(t, n), Y: figures(t, n)}
		}
		return series
	}
	some := func() Series {
		n := rapid.IntRange(1, 6).Draw(t, "points")
		return Series{Name: "some", X: figures(t, n), Y: figures(t, n)}
	}
	switch rapid.SampledFrom([]string{"lines", "trade-off", "front", "overlay", "errors",
		"timeline", "accuracy"}).Draw(t, "picture") {
	case "lines":
		c := Curves{Title: "title", X: "x", Y: "y", Series: list("series"),
			Percent: rapid.Bool().Draw(t, "percent"), Points: rapid.Bool().Draw(t, "points only")}
		if limit := figures(t, 2)[0]; rapid.Bool().Draw(t, "limited") {
			c.Limit, c.LimitName = limit, "limit"
		}
		p, err := c.Draw()
		return "lines", p, err
	case "trade-off":
		p, err := Tradeoff("title", "x", "y", list("series"), figures(t, 1)[0], "limit")
		return "trade-off", p, err
	case "front":
		p, err := Front("title", "x", "y", some(), some())
		return "front", p, err
	case "overlay":
		a, b := some(), some()
		p, err := Overlay("title", "x", []Sample{{"a", a.X}, {"b", b.X}, {"none", nil}})
		return "overlay", p, err
	case "errors":
		p, err := Errors("title", "x", pointsOf(list("groups")))
		return "errors", p, err
	case "timeline":
		p, err := Timeline("title", "x", pointsOf(list("lines")))
		return "timeline", p, err
	default:
		s := some()
		a := Accuracy{Title: "title", Unit: "ms",
			Series: []AccuracySeries{{Name: "a", Measured: s.X, Predicted: s.Y}}}
		p, err := a.Draw()
		return "accuracy", p, err
	}
}

// figures returns n positive figures, equal, near each other or far apart.
func figures(t *rapid.T, n int) []float64 {
	scale := math.Pow(10, float64(rapid.IntRange(-6, 9).Draw(t, "scale")))
	decades := rapid.SampledFrom([]float64{0, 1e-7, 1e-3, 0.1, 1, 3, 12}).Draw(t, "decades")
	list := make([]float64, n)
	for i := range list {
		list[i] = scale * math.Pow(10, decades*rapid.Float64Range(-0.5, 0.5).Draw(t, "figure"))
	}
	return list
}

func pointsOf(series []Series) []Points {
	groups := make([]Points, len(series))
	for i, s := range series {
		groups[i] = Points{Name: s.Name, XY: make(plotter.XYs, len(s.X))}
		for j := range s.X {
			groups[i].XY[j].X, groups[i].XY[j].Y = s.X[j], s.Y[j]
		}
	}
	return groups
}

// checkAxis reports an axis that has no extent, or two labels that cannot be told apart.
func checkAxis(t *rapid.T, name string, a *plot.Axis) {
	if math.IsNaN(a.Min) || math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) || !(a.Min < a.Max) {
		t.Fatalf("%s: an axis goes from %g to %g", name, a.Min, a.Max)
	}
	last := ""
	for _, tick := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		if tick.Label == "" {
			continue
		}
		if tick.Label == last {
			t.Fatalf("%s: two ticks from %g to %g are labelled %q", name, a.Min, a.Max, last)
		}
		last = tick.Label
	}
}

// checkDrawn reports a picture that cannot be drawn, or that is empty.
func checkDrawn(t *rapid.T, name string, p *plot.Plot) {
	w, err := p.WriterTo(4*vg.Inch, 3*vg.Inch, "png")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if _, err := png.Decode(&out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
