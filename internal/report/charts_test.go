package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

var update = flag.Bool("update", false, "write the golden files")

// The charts of a terminal are those of testdata/charts.txt, for data that does not depend on
// constants.
func TestCharts(t *testing.T) {
	var out bytes.Buffer
	p := &Printer{out: &out}
	p.charts(waves())
	p.Gap()
	p.memoryBar(&scenarios.Memory{
		Plan: steptime.MemoryPlan{Total: 80e9, Weights: 14e9, Activations: 2e9, Context: 1e9,
			KV: 55e9}})
	p.memoryBar(&scenarios.Memory{
		Plan: steptime.MemoryPlan{Total: 80e9, Weights: 140e9, Activations: 2e9, Context: 1e9}})
	p.intensities(&Roofline{Ridge: 153, Steps: []RooflineStep{
		rooflineStep("prefill 512", 400), rooflineStep("decode 1", 1), rooflineStep("decode 64",
			40),
	}})
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	path := filepath.Join("testdata", "charts.txt")
	if *update {
		testkit.OK(t, os.MkdirAll("testdata", 0o777))
		testkit.OK(t, os.WriteFile(path, out.Bytes(), 0o666))
	}
	want := testkit.Read(t, path)
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("other charts than %s (-want +got):\n%s", path, diff)
	}
}

// waves is a result with two waves of requests, of which only the second waits.
func waves() *scenarios.Result {
	r := &scenarios.Result{}
	for i := range 200 {
		wave := math.Abs(math.Sin(math.Pi * float64(i) / 100))
		point := metrics.Point{At: sim.Time(i) * sim.Second, Running: int(40 * wave),
			KVUsage: 0.8 * wave}
		if i > 100 {
			point.Waiting = int(10 * wave)
		}
		r.Series = append(r.Series, point)
	}
	r.TTFTs = metrics.Histogram{Low: 0.05, High: 0.4, Counts: []float64{1, 4, 9, 16, 9, 4, 1, 1, 0,
		1}}
	r.TPOTs = metrics.Histogram{Low: 0.02, High: 0.02, Counts: []float64{50}} // all alike: no chart
	return r
}

func rooflineStep(name string, intensity float64) RooflineStep {
	point := RooflinePoint{Name: name, Intensity: intensity, Bound: "memory"}
	if intensity > 153 {
		point.Bound = "compute"
	}
	return RooflineStep{RooflinePoint: point, Operators: []RooflinePoint{point}}
}
