package validation

import (
	"math"
	"os"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// A row is a scenario: the text that it prints gives the means that validate predicts of it, where
// all requests of a run count the same.
func TestARowIsAScenario(t *testing.T) {
	rows := 0
	for _, folder := range []*Data{read(t, "testdata/sample"), cited(t)} {
		for i := range folder.tables {
			for _, e := range folder.tables[i].experiments {
				x, ok := e.(*trial)
				if ok && x.Workload.Arrivals.Process == "poisson" {
					continue // the rate is the row's, and the times are others
				}
				if !ok || x.recorded != nil || x.apart != nil || x.steps != nil ||
					x.Workload.Arrivals.Users >= manyClients {
					continue
				}
				name := rowName(x.place.File, x.place.Line)
				one, err := folder.Row(name)
				testkit.OK(t, err)
				text, err := one.Scenario()
				testkit.OK(t, err)
				f, err := scenarios.Parse(name, text)
				testkit.OK(t, err)
				r, err := f.Run(t.Context(), policies.Default())
				testkit.OK(t, err)
				predicted, err := x.compare(t.Context(), &accuracy.Physics{})
				testkit.OK(t, err)
				for _, c := range predicted {
					want := map[string]float64{"TTFT mean": r.Summary.MeanTTFT,
						"TPOT mean": r.Summary.MeanTPOT}[c.Quantity]
					if want > 0 && math.Abs(c.Predicted/want-1) > 1e-6 {
						t.Errorf("%s: %s is %g ms, and %g ms as a scenario", name, c.Quantity,
							c.Predicted, want)
					}
					rows++
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("found %d figures of rows that are scenarios", rows)
	}
}

func read(t *testing.T, folder string) *Data {
	data, err := Read(os.DirFS(folder))
	testkit.OK(t, err)
	return data
}

func cited(t *testing.T) *Data {
	data, err := Read(Cited())
	testkit.OK(t, err)
	return data
}

// A version is one engine: a row has the preset that a scenario with the engine and the version
// has, and its scenario names both.
func TestOneVersionIsOneEngine(t *testing.T) {
	for _, version := range []string{"0.6.6", "0.7.4", "0.8.5", "0.12.0", "0.14.0", "0.19.0"} {
		table := "backend,backend_version,model,gpu,dtype,tensor_parallel,isl,osl,concurrency," +
			"tpot_ms\n" +
			"vllm," + version + ",Llama-3.1-8B,h100-sxm,bf16,1,1024,128,4,8\n"
		data, err := Read(fstest.MapFS{"closed_loop.csv": {Data: []byte(table)}})
		testkit.OK(t, err)
		text, err := data.Scenario()
		testkit.OK(t, err)
		row, err := scenarios.Parse("row", text)
		testkit.OK(t, err)
		own, err := scenarios.Describe("llama-3.1-8b", "h100-sxm", "engine.preset=vllm",
			"engine.version="+version)
		testkit.OK(t, err)
		a, err := row.Server(policies.Default())
		testkit.OK(t, err)
		b, err := own.Server(policies.Default())
		testkit.OK(t, err)
		if a.Engine.Name != b.Engine.Name || a.Release.Version != b.Release.Version {
			t.Errorf("vLLM %s is %s %s in a row and %s %s in a scenario", version, a.Engine.Name,
				a.Release.Version, b.Engine.Name, b.Release.Version)
		}
	}
}
