package plots

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

var update = flag.Bool("update", false, "write the golden files")

// curve is a Series as golden files hold it: with six digits.
type curve struct {
	Name string   `json:"name"`
	X    []string `json:"x,omitempty"`
	Y    []string `json:"y"`
}

func curves(list ...Series) (golden []curve) {
	digits := func(values []float64) (texts []string) {
		for _, v := range values {
			texts = append(texts, strconv.FormatFloat(v, 'g', 6, 64))
		}
		return texts
	}
	for _, s := range list {
		golden = append(golden, curve{s.Name, digits(s.X), digits(s.Y)})
	}
	return golden
}

// What the pictures of a run show is in testdata. The engine is ideal, so that it does not depend
// on fitted constants.
func TestDataOfARun(t *testing.T) {
	result, sample, steps := run(t, "chat", "engine=ideal", "workload.requests=12",
		"workload.rate=40/s")
	golden(t, "latencies", curves(latencyCurves(sample.Requests())...))
	running, waiting, kv := stateCurves(page.Points(result))
	golden(t, "queue", curves(running, waiting))
	golden(t, "memory", curves(kv))
	batches, stack := stepStack(page.StepParts(steps, result))
	golden(t, "steps", map[string]any{"batches": batches, "parts": curves(stack...)})
}

// What the roofline shows, likewise.
func TestDataOfTheRoofline(t *testing.T) {
	file, err := scenarios.Describe("llama-2-7b", "a100-80gb", "engine=ideal")
	testkit.OK(t, err)
	steps, err := file.Steps(policies.Default())
	testkit.OK(t, err)
	var list []Series
	for _, s := range report.NewRoofline(steps, []int{512}, []int{1, 64}, 1024).Steps {
		points := Series{Name: s.Name, X: []float64{s.Intensity}, Y: []float64{s.Rate / tera}}
		for _, o := range s.Operators {
			points.X, points.Y = append(points.X, o.Intensity), append(points.Y, o.Rate/tera)
		}
		list = append(list, points)
	}
	golden(t, "roofline", curves(list...))
}

func golden(t *testing.T, name string, data any) {
	t.Helper()
	text, err := json.MarshalIndent(data, "", " ")
	testkit.OK(t, err)
	path := filepath.Join("testdata", name+".json")
	if *update {
		testkit.OK(t, os.WriteFile(path, append(text, '\n'), 0o666))
	}
	want := testkit.Read(t, path)
	if diff := cmp.Diff(string(want), string(text)+"\n"); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
