package crosscheck

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"

	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/testkit"
)

// drawn is two requests, a step of each kind, and four spans of which the last is out of sight.
func drawn() *Comparison {
	run := func(scale float64) *Run {
		return &Run{
			Requests: []Request{{TTFT: 0.1 * scale, TPOT: 0.01 * scale, E2E: 1 * scale},
				{TTFT: 0.2 * scale, TPOT: 0.02 * scale, E2E: 2 * scale}},
			Steps: []Step{
				{Decodes: 2, DecodeTokens: 2, Context: 50, Took: 100, Predicted: 110},
				{Chunks: 1, New: 8, Cached: 4, Took: 200, Predicted: 150},
				{Decodes: 1, DecodeTokens: 1, Context: 20, Chunks: 1, New: 3, Took: 100,
					Predicted: 100},
			},
			Spans: []Span{{0, 0.5}, {0.5, 1}, {2, 3 * scale}, {5, 6}},
		}
	}
	return &Comparison{Title: "two requests", Predicted: []*Run{run(1)},
		Executed: []*Run{run(1.1), run(1.2)}}
}

// The pictures show every executed step by what was in it, every request of all runs, and steps as
// they followed each other.
func TestDataOfThePictures(t *testing.T) {
	c := drawn()
	steps := map[string]plotter.XYs{}
	for _, kind := range c.stepErrors(func(s *Step) float64 {
		return float64(s.DecodeTokens + s.New)
	}) {
		for i, x := range kind.X {
			steps[kind.Name] = append(steps[kind.Name],
				plotter.XY{X: x, Y: math.Round(1e6*kind.Y[i]) / 1e6})
		}
	}
	want := map[string]plotter.XYs{
		"decode alone":  {{X: 2, Y: 10}, {X: 2, Y: 10}},
		"prompts alone": {{X: 8, Y: -25}, {X: 8, Y: -25}}, "both": {{X: 4}, {X: 4}},
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("errors of steps (-want +got):\n%s", diff)
	}
	if got := pooled(c.Executed, func(r *Request) float64 { return r.E2E }); !cmp.Equal(got,
		[]float64{1.1, 2.2, 1.2, 2.4}) {
		t.Errorf("whole requests are %v", got)
	}
	outline := plots.Series{Name: "predicted", X: []float64{0, 0.5, 0.5, 1, 1, 2, 2, 3},
		Y: []float64{500, 500, 500, 500, 0, 0, 1000, 1000}}
	if diff := cmp.Diff(outline, stepOutline("predicted", c.Predicted[0].Spans)); diff != "" {
		t.Errorf("steps over time (-want +got):\n%s", diff)
	}

	dir := t.TempDir()
	testkit.OK(t, c.draw(dir))
	for _, name := range []string{"ttft", "tpot", "e2e", "errors-by-tokens", "errors-by-context",
		"timeline"} {
		for _, kind := range []string{".svg", ".png"} {
			if info, err := os.Stat(filepath.Join(dir, name+kind)); err != nil || info.Size() == 0 {
				t.Errorf("%s%s: %v", name, kind, err)
			}
		}
	}
}
