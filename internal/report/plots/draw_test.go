package plots

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"image/png"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
)

// pictures draws each picture of the package from series, which some pictures use in part.
func pictures() map[string]func(list []Series) (*plot.Plot, error) {
	first := func(list []Series) (s Series) {
		if len(list) > 0 {
			s = list[0]
		}
		return s
	}
	state := func(list []Series) (points []page.Point) {
		s := first(list)
		for i, x := range s.X {
			points = append(points, page.Point{At: x, Running: int(min(s.Y[i], 1e6)),
				Waiting: i % 2, KV: s.Y[i], Up: i})
		}
		return points
	}
	return map[string]func(list []Series) (*plot.Plot, error){
		"Curves.Draw": func(list []Series) (*plot.Plot, error) {
			c := Curves{Title: "title", X: "x", Y: "y", Series: list, Percent: len(list)%2 == 0,
				Points: len(list)%3 == 0}
			if s := first(list); len(s.X) > 1 {
				c.Limit, c.LimitName = s.Y[0], "limit"
			}
			return c.Draw()
		},
		"Tradeoff": func(list []Series) (*plot.Plot, error) {
			return Tradeoff("title", "x", "y", list, 1, "limit")
		},
		"Growth": func(list []Series) (*plot.Plot, error) {
			return Growth("title", "x", "y", list)
		},
		"Front": func(list []Series) (*plot.Plot, error) {
			one := first(list)
			return Front("title", "x", "y", one, one, make([]string, len(one.X)), 0, "")
		},
		"Cloud": func(list []Series) (*plot.Plot, error) {
			return Cloud("title", "x", "y", first(list), list)
		},
		"Overlay": func(list []Series) (*plot.Plot, error) {
			return Overlay("title", "x", []Sample{{"a", first(list).X}, {"b", first(list).Y}})
		},
		"Errors": func(list []Series) (*plot.Plot, error) {
			return Errors("title", "x", list)
		},
		"Timeline": func(list []Series) (*plot.Plot, error) {
			return Timeline("title", "x", list)
		},
		"Accuracy.Draw": func(list []Series) (*plot.Plot, error) {
			s := Series{Name: "positive"}
			for i, x := range first(list).X {
				if y := first(list).Y[i]; x > 0 && y > 0 {
					s.X, s.Y = append(s.X, x), append(s.Y, y)
				}
			}
			a := Accuracy{Title: "title", Unit: "ms",
				Series: []AccuracySeries{{Name: "a", Measured: s.X, Predicted: s.Y}, {Name: "b"}}}
			return a.Draw()
		},
		"Stacked": func(list []Series) (*plot.Plot, error) {
			var names []string
			for range first(list).X {
				names = append(names, "bar")
			}
			return Stacked("title", "x", "y", names, list[:min(len(list), 1)])
		},
		"Latencies": func(list []Series) (*plot.Plot, error) {
			var requests []page.Request
			for i, x := range first(list).X {
				requests = append(requests, page.Request{TTFT: x, TPOT: first(list).Y[i]})
			}
			return Latencies(requests, []sloLine{{0, 1}, {1, 1}})
		},
		"State": func(list []Series) (*plot.Plot, error) {
			queue, memory, err := State(state(list))
			if err == nil {
				err = drawn(memory)
			}
			return queue, err
		},
		"Replicas": func(list []Series) (*plot.Plot, error) { return Replicas(state(list)) },
		"StepParts": func(list []Series) (*plot.Plot, error) {
			var parts []page.PartTime
			for i, y := range first(list).Y {
				parts = append(parts, page.PartTime{Batch: i, Name: "activations", Time: y,
					Fits: len(list)%2 == 0})
			}
			return StepParts(parts)
		},
		"Roofline": func(list []Series) (*plot.Plot, error) {
			r := report.Roofline{Peak: 1e15, Bandwidth: 1e12, Ridge: 1000}
			for i, x := range first(list).X {
				point := report.RooflinePoint{Intensity: x, Rate: first(list).Y[i]}
				step := report.RooflineStep{RooflinePoint: point}
				if x > 0 {
					step.Operators = append(step.Operators, point)
				}
				r.Steps = append(r.Steps, step)
			}
			return Roofline(&r)
		},
	}
}

// The table of pictures has every exported function of the package that makes one.
func TestEveryPictureIsDrawn(t *testing.T) {
	names, err := filepath.Glob("*.go")
	testkit.OK(t, err)
	made := map[string]bool{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		testkit.OK(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Type.Results == nil {
				continue
			}
			of := ""
			if f.Recv != nil {
				of = strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "."
			}
			if types.ExprString(f.Type.Results.List[0].Type) == "*plot.Plot" {
				made[of+f.Name.Name] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(made)),
		slices.Sorted(maps.Keys(pictures()))); diff != "" {
		t.Errorf("pictures of the package, and of the table (-want +got):\n%s", diff)
	}
}

// Whatever figures a picture gets, from no series and no points to zeros, equal figures and figures
// that are twelve orders apart, it is drawn: its axes are finite, and neighbouring labels differ.
func TestPicturesOfAnything(t *testing.T) {
	all := pictures()
	check := func(name string, list []Series) error {
		p, err := all[name](list)
		if err == nil {
			err = errors.Join(drawn(p), axes(p)) // drawing gives empty axes an extent
		}
		if err != nil {
			return fmt.Errorf("%s of %v: %w", name, list, err)
		}
		return nil
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		for _, list := range [][]Series{nil, {{}}, {{}, {}}, {{X: []float64{0}, Y: []float64{0}}},
			{{X: []float64{0, 0, 1}, Y: []float64{0, 1, 0}}, {}}} {
			testkit.OK(t, check(name, list))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		list := make([]Series, rapid.IntRange(0, 12).Draw(t, "series"))
		for i := range list {
			n := rapid.IntRange(0, 6).Draw(t, "points")
			list[i] = Series{Name: "a series", X: figures(t, n), Y: figures(t, n)}
		}
		if err := check(rapid.SampledFrom(names).Draw(t, "picture"), list); err != nil {
			t.Fatal(err)
		}
	})
}

// figures returns n figures, equal, near each other, far apart or 0.
func figures(t *rapid.T, n int) []float64 {
	scale := math.Pow(10, float64(rapid.IntRange(-6, 9).Draw(t, "scale")))
	decades := rapid.SampledFrom([]float64{0, 1e-7, 1e-3, 0.1, 1, 3, 12}).Draw(t, "decades")
	list := make([]float64, n)
	for i := range list {
		if rapid.IntRange(0, 9).Draw(t, "zero") == 0 {
			continue
		}
		list[i] = scale * math.Pow(10, decades*rapid.Float64Range(-0.5, 0.5).Draw(t, "figure"))
	}
	return list
}

// axes reports an axis that has no extent, or two labels that cannot be told apart.
func axes(p *plot.Plot) error {
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if math.IsNaN(a.Min) || math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) || !(a.Min < a.Max) {
			return fmt.Errorf("an axis goes from %g to %g", a.Min, a.Max)
		}
		if _, named := a.Tick.Marker.(plot.ConstantTicks); named {
			continue
		}
		last := ""
		for _, tick := range a.Tick.Marker.Ticks(a.Min, a.Max) {
			if tick.Label == "" {
				continue
			}
			if tick.Label == last {
				return fmt.Errorf("two ticks from %g to %g are labelled %q", a.Min, a.Max, last)
			}
			last = tick.Label
		}
	}
	return nil
}

// drawn reports a picture that cannot be drawn, or that is empty.
func drawn(p *plot.Plot) error {
	w, err := p.WriterTo(4*vg.Inch, 3*vg.Inch, "png")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		return err
	}
	_, err = png.Decode(&out)
	return err
}
