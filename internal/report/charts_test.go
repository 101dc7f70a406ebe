package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
)

var update = flag.Bool("update", false, "write the golden files")

// The charts of a terminal are those of testdata/charts.txt, for data that does not depend on
// constants.
func TestCharts(t *testing.T) {
	var out bytes.Buffer
	var p doc.Blocks
	memoryBar(&p, &scenarios.Memory{
		Plan: steptime.MemoryPlan{Total: 80e9, Weights: 14e9, Activations: 2e9, Context: 1e9,
			KV: 55e9}})
	memoryBar(&p, &scenarios.Memory{
		Plan: steptime.MemoryPlan{Total: 80e9, Weights: 140e9, Activations: 2e9, Context: 1e9}})
	(&Roofline{Ridge: 153, Steps: []RooflineStep{
		rooflineStep("prefill 512", 400), rooflineStep("decode 1", 1), rooflineStep("decode 64",
			40),
	}}).intensities(&p)
	testkit.OK(t, doc.Print(&out, p))
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

func rooflineStep(name string, intensity float64) RooflineStep {
	point := RooflinePoint{Name: name, Intensity: intensity, Bound: "memory"}
	if intensity > 153 {
		point.Bound = "compute"
	}
	return RooflineStep{RooflinePoint: point, Operators: []RooflinePoint{point}}
}
