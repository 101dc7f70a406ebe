package validation

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
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
			for _, x := range folder.tables[i].experiments {
				if x.Workload.Arrivals.Process == "poisson" {
					continue // the rate is the row's, and the times are others
				}
				if x.sent != nil || x.steps != nil || x.waved {
					continue
				}
				name := rowName(x.place.File, x.place.Line)
				one, err := folder.Row(name)
				testkit.OK(t, err)
				r := emittedRun(t, one, name)
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

// A row of which validate simulates some waves is a scenario with all of them. It begins with what
// validate predicts and what the scenario gives: off by 15 % at most in TPOT, and by 40 % in TTFT,
// which changes by much near capacity.
func TestRowsOfManyUsersAreScenarios(t *testing.T) {
	n := 0
	for _, data := range []*Data{read(t, "testdata/sample"), cited(t)} {
		for _, row := range data.waved() {
			row.saysByHowMuch(t)
			n++
		}
	}
	if n < 3 {
		t.Errorf("found %d rows of many users", n)
	}
}

// So are rows that were measured beside the repository, of which some are drawn.
func TestMeasuredRowsOfManyUsersAreScenarios(t *testing.T) {
	for _, row := range testkit.DrawCases(t, 12, read(t,
		testkit.Shared(t, "measured")).waved()) {
		row.saysByHowMuch(t)
	}
}

// wavedRow is a row of which validate simulates some waves.
type wavedRow struct {
	data *Data
	*trial
}

// waved returns these rows, without the ones whose emitted scenario takes long.
func (d *Data) waved() (list []wavedRow) {
	for i := range d.tables {
		for _, x := range d.tables[i].experiments {
			if x.waved && x.count <= 1024 {
				list = append(list, wavedRow{d, x})
			}
		}
	}
	return list
}

// saysByHowMuch checks by how much the scenario that a row prints is off, and that it says so.
func (r *wavedRow) saysByHowMuch(t *testing.T) {
	t.Helper()
	name := rowName(r.place.File, r.place.Line)
	predicted, err := r.compare(t.Context(), &accuracy.Physics{})
	if err != nil {
		return // the report counts rows that cannot be predicted
	}
	emitted, err := r.data.Scenario(t.Context(), name)
	testkit.OK(t, err)
	f, err := scenarios.Parse(name, emitted.Scenario)
	testkit.OK(t, err)
	run, err := f.Run(t.Context(), policies.Default())
	testkit.OK(t, err)
	if int(run.Sent()) != requestsPerClient*r.count {
		t.Errorf("%s: %d requests of %d users", name, run.Sent(), r.count)
	}
	for _, c := range predicted {
		got, most := run.Summary.MeanTPOT, 0.15
		switch c.Quantity {
		case "TPOT mean":
		case "TTFT mean":
			got, most = run.Summary.MeanTTFT, 0.4
		default:
			continue
		}
		off := got/c.Predicted - 1
		if math.Abs(off) > most {
			t.Errorf("%s: %s is %g, and %g as a scenario", name, c.Quantity, c.Predicted, got)
		}
		said := [3]float64{}
		_, words, _ := strings.Cut(string(emitted.Scenario), "# "+c.Quantity+" is ")
		_, err := fmt.Sscanf(words, "%g ms so, and %g here (%g %%)", &said[0], &said[1], &said[2])
		if err != nil || math.Abs(said[0]/c.Predicted-1) > 1e-4 ||
			math.Abs(said[1]/got-1) > 1e-4 || math.Abs(said[2]-100*off) > 0.06 {
			t.Errorf("%s: %s is %g, and %g here:\n%s", name, c.Quantity, c.Predicted, got,
				emitted.Scenario)
		}
	}
}

// emittedRun returns the result of the scenario that a row prints, with its requests beside it.
func emittedRun(t *testing.T, data *Data, name string) *scenarios.Result {
	t.Helper()
	row, err := data.Scenario(t.Context(), name)
	testkit.OK(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "scenario.yaml")
	testkit.OK(t, os.WriteFile(file, row.Scenario, 0o666))
	if row.Trace != nil {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, RequestsFile), row.Trace, 0o666))
	}
	f, err := scenarios.Load(file)
	testkit.OK(t, err)
	r, err := f.Run(t.Context(), policies.Default())
	testkit.OK(t, err)
	return r
}

// Runs that are sent request by request are scenarios with a trace, in which the requests of the
// row's line are a class: one of 300 requests, each with its own time, each stage of a run at
// rising rates, and prompts that others share. A stage at the start of a run is a little slower,
// since a trace does not say that prompts of other texts begin with the same system prompt. Times
// that were taken inside the engine lack what a request costs outside of it.
func TestRunsSentAgainAreScenariosWithTraces(t *testing.T) {
	data, rows := read(t, "testdata/sample"), map[string]int{}
	for i := range data.tables {
		for _, x := range data.tables[i].experiments {
			if x.sent == nil || x.sent.law != nil {
				continue
			}
			predicted, err := x.compare(t.Context(), &accuracy.Physics{})
			testkit.OK(t, err)
			run := len(x.parts) > 0
			for _, c := range predicted {
				name := rowName(c.File, c.Line)
				row := emittedRun(t, data, name).Summary.Classes[ofRow]
				want := map[string]float64{"TPOT mean": row.MeanTPOT}
				if run || !x.engineTimes {
					want["TTFT mean"], want["E2E mean"] = row.MeanTTFT, row.MeanE2EL
				}
				if want[c.Quantity] == 0 {
					continue
				}
				most := 1e-6
				if run {
					most = 0.1
				}
				if off := c.Predicted/want[c.Quantity] - 1; math.Abs(off) > most {
					t.Errorf("%s: %s is %g, and %g as a scenario", name, c.Quantity, c.Predicted,
						want[c.Quantity])
				}
				rows[data.tables[i].name]++
			}
		}
	}
	for _, table := range []string{"vllm_runs", "vllm_requests", "requests"} {
		if rows[table] < 1 {
			t.Errorf("%s: found %d figures", table, rows[table])
		}
	}
}

// Each row of a server is a scenario, which predicts the same when it is read again, and a row of
// kernels is refused by name.
func TestRowsOfServersAreScenarios(t *testing.T) {
	for _, data := range []*Data{read(t, "testdata/sample"), cited(t)} {
		for _, row := range data.emitAll(t) {
			row.predictsTheSame(t)
		}
	}
}

// So is each row that was measured beside the repository; some are drawn and predicted.
func TestMeasuredRowsAreScenarios(t *testing.T) {
	for _, folder := range []string{"measured", "measured_2026_11"} {
		for _, row := range testkit.DrawCases(t, 60, read(t,
			testkit.Shared(t, folder)).emitAll(t)) {
			row.predictsTheSame(t)
		}
	}
}

// emittedRow is a row of a server as a scenario.
type emittedRow struct {
	*trial
	text []byte
}

// emitAll returns all rows that are scenarios. Others have to be kernels.
func (d *Data) emitAll(t *testing.T) (list []emittedRow) {
	for i := range d.tables {
		k := &d.tables[i]
		for _, e := range k.experiments {
			for n, at := range e.rows() {
				by := e.emit(at.Line)
				if kernels := kernelTables[k.name]; kernels == (by.server != nil) {
					t.Errorf("%s:%d of %s: kernels %v, a server %v", at.File, at.Line, k.name,
						kernels, by.server != nil)
				}
				if by.server == nil || n > 0 {
					continue
				}
				row, err := by.emitted()
				testkit.OK(t, err)
				list = append(list, emittedRow{e, row.Scenario})
			}
		}
	}
	return list
}

// kernelTables are the tables of kernels that were measured without an engine.
var kernelTables = map[string]bool{"iteration": true, "linear_layers": true,
	"linear_and_allreduce": true, "gemm": true, "context_attention": true,
	"generation_attention": true, "context_mla": true, "generation_mla": true, "moe": true,
	"moe_backends": true, "custom_allreduce": true, "nccl": true}

// predictsTheSame checks that a row is predicted alike by the scenario that it prints.
func (r *emittedRow) predictsTheSame(t *testing.T) {
	t.Helper()
	x, name := r.trial, rowName(r.place.File, r.place.Line)
	file, err := scenarios.Parse(name, r.text)
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, r.text)
		return
	}
	if x.waved { // the scenario has what follows, too
		file.Scenario.Workload.Requests = x.Workload.Requests
	}
	if x.sent != nil {
		return
	}
	before, err := x.compare(t.Context(), &accuracy.Physics{})
	if err != nil {
		return // the report counts rows that cannot be predicted
	}
	kept := x.made
	x.made = &served{&x.deployment, r.text, file}
	after, err := x.compare(t.Context(), &accuracy.Physics{})
	testkit.OK(t, err)
	x.made = kept
	for i := range before {
		if before[i].Predicted != after[i].Predicted {
			t.Errorf("%s: %s is %g, and %g as a scenario", name, before[i].Quantity,
				before[i].Predicted, after[i].Predicted)
		}
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
		text, err := data.Scenario(t.Context(), "closed_loop.csv:2")
		testkit.OK(t, err)
		row, err := scenarios.Parse("row", text.Scenario)
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
