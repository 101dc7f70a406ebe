package fit_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// rows reads a table of ../shared/measured as rows by column.
func rows(t *testing.T, name ...string) []map[string]string {
	t.Helper()
	file, err := os.Open(testkit.Shared(t, append([]string{"measured"}, name...)...))
	testkit.OK(t, err)
	defer file.Close()
	all, err := csv.NewReader(file).ReadAll()
	testkit.OK(t, err)
	var list []map[string]string
	for _, record := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = record[i]
		}
		list = append(list, row)
	}
	return list
}

func number(row map[string]string, column string) float64 {
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		return 0
	}
	return v
}

// figures returns the latencies of a row, which are in ms.
func figures(row map[string]string) observed.Figures {
	f := observed.Figures{TTFT: number(row, "ttft_mean_ms") / 1000,
		E2E: number(row, "e2e_mean_ms") / 1000}
	return f
}

// firstStages fits to the first stage of each vLLM 0.15.1 server, and predicts the second one.
func firstStages(t *testing.T) []fit.Error {
	t.Helper()
	names := map[string]string{"meta-llama/Llama-2-7b-hf": "llama-2-7b",
		"meta-llama/Llama-2-70b-hf": "llama-2-70b", "Qwen/Qwen3-14B": "qwen3-14b",
		"meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b"}
	accelerators := map[string]string{"H100": "h100-sxm", "A100-80GB": "a100-sxm4-80gb",
		"L40S": "l40s"}
	profiles := map[string]float64{"general": 100. / 547, "codegen": 100. / 566,
		"roleplay": 150. / 750}
	stages := map[string][]observed.Run{}
	about := map[string]map[string]string{}
	for _, row := range rows(t, "vllm_0.15.1_runs.csv") {
		share, known := profiles[strings.TrimSuffix(row["profile"], "-lite")]
		if names[row["model"]] == "" || !known {
			continue
		}
		key := row["run"] + row["profile"]
		prompt := number(row, "prompt_tokens_mean")
		run := observed.Run{Name: key + " stage " + row["stage"], Summary: figures(row),
			Load: observed.Load{Rate: number(row, "rate_rps"), Seconds: number(row, "stage_s"),
				Prompt: prompt, Output: number(row, "output_tokens"), Distinct: 100, Groups: 10,
				System: int(prompt * share), Warm: row["stage"] != "0"}}
		run.Summary.TPOT = number(row, "tpot_mean_ms") / 1000
		stages[key] = append(stages[key], run)
		about[key] = row
	}
	var all []fit.Error
	for key, runs := range stages {
		if len(runs) < 2 {
			continue
		}
		row := about[key]
		s := server(fmt.Sprintf(`
model: %s
hardware: {accelerator: %s}
parallelism: {tensor: %s}
engine: {preset: vllm, version: 0.15.1, max-model-len: 4096, weights: fp16}
batching: {policy: vllm-v1, max-sequences: 128, token-budget: %s}
memory: {policy: prefix-cache}
workload: {rate: 8/s, prompt: 600, output: 248, requests: 300}
`, names[row["model"]], accelerators[row["gpu"]], row["tensor_parallel"],
			row["max_num_batched_tokens"]))
		r, err := fit.Run(context.Background(), fit.Config{Server: s, Runs: runs[:1]})
		if err != nil {
			t.Fatal(key, err)
		}
		isOneServer(t, r)
		later, err := fit.Predict(context.Background(), &s, runs[1:], r.Values())
		testkit.OK(t, err)
		all = append(all, later...)
	}
	return all
}

// everyStep fits to half of the steps of a server, and predicts the other half: every second step,
// or the second half of the time, in which fewer sequences decode than ever in the first.
func everyStep(later bool) func(t *testing.T) []fit.Error {
	return func(t *testing.T) (all []fit.Error) {
		for _, tensor := range []int{1, 2, 4} {
			runs := read(t, "steps", fmt.Sprintf("qwen3-32b__tp%d_dp1_ep1.csv", tensor)).Runs
			s := server(fmt.Sprintf(`
model: qwen3-32b
hardware: {accelerator: b300-sxm}
parallelism: {tensor: %d}
engine: {preset: vllm, version: 0.20.1}
batching: {policy: vllm-v1, max-sequences: 256, token-budget: 8192}
workload: {rate: 1/s, prompt: 4129, output: 1032, requests: 100}
`, tensor))
			if later {
				all = append(all, heldOut(adapt(t, s, runs, 0.5))...)
				continue
			}
			halves := make([]observed.Run, 2)
			for i, step := range runs[0].Steps {
				halves[i%2].Steps = append(halves[i%2].Steps, step)
			}
			all = append(all, predict(t, s, halves[1:], adapt(t, s, halves[:1], 0))...)
		}
		return all
	}
}

// adapt fits, and logs the factors.
func adapt(t *testing.T, s fit.Server, runs []observed.Run, hold float64) *fit.Result {
	t.Helper()
	r, err := fit.Run(context.Background(), fit.Config{Server: s, Runs: runs, Hold: hold})
	testkit.OK(t, err)
	for _, f := range r.Factors {
		t.Logf("%-10s %.3f ± %.3f learnt %v", f.Name, f.Value, f.Deviation, f.Learnt)
	}
	isOneServer(t, r)
	return r
}

// isOneServer checks that the requests of one server, with the arrivals that they had, are taken
// for what they are.
func isOneServer(t *testing.T, r *fit.Result) {
	t.Helper()
	for _, s := range r.Refusals() {
		if strings.Contains(s, "two kinds") || strings.Contains(s, "times their rate") {
			t.Errorf("one server, and its own arrivals: %s", s)
		}
	}
}

// heldOut returns the errors of what was held out.
func heldOut(r *fit.Result) []fit.Error {
	return slices.DeleteFunc(slices.Clone(r.Errors), func(e fit.Error) bool { return !e.Held })
}

// predict returns the errors of other runs with the fitted factors.
func predict(t *testing.T, s fit.Server, runs []observed.Run, r *fit.Result) []fit.Error {
	t.Helper()
	list, err := fit.Predict(context.Background(), &s, runs, r.Values())
	testkit.OK(t, err)
	return list
}

// halfOfTheTime fits to the first half of the requests of a vLLM 0.19 server, and predicts the
// second half.
func halfOfTheTime(file, model string, tensor int) func(t *testing.T) []fit.Error {
	return func(t *testing.T) []fit.Error {
		o := read(t, "vllm_0.19_requests__rtx-pro-6000__"+file+".csv")
		goOn(&o.Runs[0], 300)
		return heldOut(adapt(t, server(fmt.Sprintf(`
model: %s
hardware: {accelerator: rtx-pro-6000}
parallelism: {tensor: %d}
engine: {preset: vllm, version: 0.19.0, request: 1us}
batching: {policy: vllm-v1, max-sequences: 128, token-budget: 2048}
workload: {rate: 10/s, prompt: 500, output: 300, requests: 300}
`, model, tensor)), o.Runs, 0.5))
	}
}

// goOn adds requests that a table leaves out, of a run of n, without times: they load the server
// and are not compared.
func goOn(r *observed.Run, n int) {
	known := len(r.Requests)
	last := r.Requests[known-1].Arrival
	gap := last / float64(known-1)
	for i := known; i < n; i++ {
		q := r.Requests[i%known]
		q.Arrival += (last + gap) * float64(i/known)
		q.TTFT, q.E2E = 0, 0
		r.Requests = append(r.Requests, q)
	}
}

// whatIf fits to the three lowest loads of vLLM 0.11 with a prefix cache, and predicts the next one
// and the saturated server.
func whatIf(t *testing.T) []fit.Error {
	t.Helper()
	var runs []observed.Run
	for _, row := range rows(t, "whatif_vllm_0.11_h100.csv") {
		if row["variant"] != "vllm+chunking_and_prefix_caching" {
			continue
		}
		f := figures(row)
		output := number(row, "output_mean")
		f.TPOT = (f.E2E - f.TTFT) / (output - 1)
		f.OutputRate = number(row, "output_tokens_per_s")
		runs = append(runs, observed.Run{Name: "stage " + row["stage"], Summary: f,
			Load: observed.Load{Rate: number(row, "requested_rate"), Seconds: 60,
				Prompt: number(row, "prompt_mean"), Output: output, Distinct: 100, Groups: 10,
				System: 128, Warm: true}})
	}
	s := server(`
model: llama-3.1-8b
hardware: {accelerator: h100-sxm}
engine: {preset: vllm, version: 0.11.0, max-model-len: 512}
batching: {policy: vllm-v1, max-sequences: 128}
memory: {policy: prefix-cache}
workload: {rate: 8/s, prompt: 203, output: 62, requests: 300}
`)
	saturated := runs[6]
	saturated.Load.Concurrency = 440
	saturated.Load.Requests = 8000
	list := predict(t, s, []observed.Run{runs[3], saturated}, adapt(t, s, runs[:3], 0))
	// the latencies of a client that is saturated follow from its rate
	return slices.DeleteFunc(list, func(e fit.Error) bool {
		return e.Run == saturated.Name && e.Quantity != fit.Rate
	})
}

// lowLoads fits to 2 and 8 requests/s of a vLLM 0.23 server, and predicts the saturated server, or
// the last part of the time.
func lowLoads(saturated bool) func(t *testing.T) []fit.Error {
	return func(t *testing.T) []fit.Error {
		const table = "requests_vllm_0.23__h100__qwen3-14b__"
		var runs []observed.Run
		for _, rate := range []string{"2", "8"} {
			runs = append(runs, read(t, table+"sweep_rate__agg_"+rate+"rps.csv").Runs...)
		}
		s := server(qwen14)
		r := adapt(t, s, runs, 0.3)
		if !saturated {
			return heldOut(r)
		}
		rest := read(t, table+"w5_sweep__agg18.csv").Runs
		rest[0].Load.Concurrency = 256
		return predict(t, s, rest, r)
	}
}

// A server is no twin of another accelerator or model that is near: the errors of what was held
// out, or a factor at its bound, refuse it, as docs/twin.md says.
func TestOtherServersAreRefused(t *testing.T) {
	testkit.Dear(t)
	var runs []observed.Run
	for _, rate := range []string{"2", "8"} {
		runs = append(runs, read(t, "requests_vllm_0.23__h100__qwen3-14b__sweep_rate__agg_"+rate+
			"rps.csv").Runs...)
	}
	page := strings.Join(strings.Fields(string(testkit.Read(t, "../../../docs/twin.md"))), " ")
	const others = "as an H200 and as Qwen3-8B (`memory` at its bound)"
	for _, c := range []struct{ was, is, said string }{
		{"h100-sxm", "a100-80gb-sxm", "as an A100 (TPOT off by a quarter, `memory` at its " +
			"bound)"},
		{"h100-sxm", "h200-sxm", others}, {"qwen3-14b", "qwen3-8b", others},
	} {
		r := adapt(t, server(strings.Replace(qwen14, c.was, c.is, 1)), runs, 0.3)
		refused, off := strings.Join(r.Refusals(), "\n"), r.HeldOut().TPOT
		if !strings.Contains(page, c.said) ||
			strings.Contains(c.said, "a quarter") != (0.2 < off && off < 0.3) {
			t.Errorf("docs/twin.md does not say %q, or TPOT is not so: %.3f", c.said, off)
		}
		for _, factor := range []string{"prompts", "memory"} {
			atBound := strings.Contains(refused, "("+factor+"), which is at its bound")
			if strings.Contains(c.said, "`"+factor+"`") != atBound {
				t.Errorf("%s as %s: %s", c.was, c.is, refused)
			}
		}
	}
}
