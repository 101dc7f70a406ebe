package fit_test

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/sharedfiles"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// read reads a file of ../shared/measured.
func read(t *testing.T, name ...string) *observed.Observed {
	t.Helper()
	path := sharedfiles.Path(t, append([]string{"measured"}, name...)...)
	o, err := formats.Read(files.Disk{}, path, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// server returns the server of a scenario.
func server(text string) fit.Server {
	return fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("test.yaml", []byte(text), sets...)
	}}
}

const qwen14 = `
model: qwen3-14b
hardware: {accelerator: h100-sxm}
parallelism: {tensor: 1}
engine: {preset: vllm, version: 0.23.0}
batching: {policy: vllm-v1, max-sequences: 256, token-budget: 8192}
workload: {rate: 8/s, prompt: 986, output: 128, requests: 300}
`

// told prints errors, and returns the largest of the held-out ones by quantity.
func told(t *testing.T, r []fit.Error, held bool) map[string]float64 {
	t.Helper()
	worst := map[string]float64{}
	for _, e := range r {
		t.Logf("%-44s %-11s held %-5v measured %.5g, before %+.1f %%, after %+.1f %%", e.Run,
			e.Quantity, e.Held, e.Measured, 100*e.Before, 100*e.After)
		if e.Held == held {
			worst[e.Quantity] = max(worst[e.Quantity], math.Abs(e.After))
		}
	}
	return worst
}

// Adapted on the loads of 2 and 8 requests/s of a vLLM 0.23 server, the twin predicts what it has
// not seen: the last part of these, and the saturated server.
func TestVLLM023(t *testing.T) {
	var runs []observed.Run
	for _, rate := range []string{"sweep_rate__agg_2rps", "sweep_rate__agg_8rps"} {
		runs = append(runs, read(t, "requests_vllm_0.23__h100__qwen3-14b__"+rate+".csv").Runs...)
	}
	s := server(qwen14)
	r, err := fit.Run(context.Background(), fit.Config{Server: s, Runs: runs, Hold: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Factors {
		t.Logf("%-10s %.3f ± %.3f learnt %v", f.Name, f.Value, f.Deviation, f.Learnt)
	}
	within(t, told(t, r.Errors, true), map[string]float64{fit.TTFT: 0.05, fit.TPOT: 0.03,
		fit.E2E: 0.03})
	saturated := read(t, "requests_vllm_0.23__h100__qwen3-14b__w5_sweep__agg18.csv").Runs
	saturated[0].Load.Concurrency = 256
	apart, err := fit.Predict(context.Background(), &s, saturated, r.Values())
	if err != nil {
		t.Fatal(err)
	}
	within(t, told(t, apart, false), map[string]float64{fit.TTFT: 0.05, fit.TPOT: 0.03,
		fit.E2E: 0.03, fit.Rate: 0.04})
}

// within checks the largest errors by quantity.
func within(t *testing.T, worst, most map[string]float64) {
	t.Helper()
	for quantity, bound := range most {
		got, known := worst[quantity]
		if !known || got > bound {
			t.Errorf("%s is off by %.1f %% (known: %v), want at most %.1f %%", quantity, 100*got,
				known, 100*bound)
		}
	}
}
