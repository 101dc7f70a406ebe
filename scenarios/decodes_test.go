package scenarios_test

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// ran runs a shipped scenario with settings.
func ran(t *testing.T, name string, set ...string) *scenarios.Result {
	t.Helper()
	file, err := scenarios.Load(name, set...)
	testkit.OK(t, err)
	r, err := file.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	return r
}

// Of one user at a time, a step that decodes takes the time per output token, through all stages of
// a pipeline, and with drafts that time for each token that it gives. Its parts sum to it.
func TestDecodeStepIsTheTimePerToken(t *testing.T) {
	alone := []string{"workload.requests=20", "workload.arrivals=constant", "workload.rate=0.01/s",
		"workload.prompt=300", "workload.output=200"}
	for name, set := range map[string][]string{
		"one":    nil,
		"tensor": {"parallelism.tensor=2"},
		"stages": {"parallelism={tensor: 2, pipeline: 4}"},
		"drafts": {"speculation={method: eagle, tokens: 3, acceptance: 0.7, baseline: skip}"},
	} {
		r := ran(t, "chat", append(set, alone...)...)
		each, within := 1.0, 1e-9
		if name == "drafts" {
			each, within = r.TokensPerStep, 0.02 // a draft may go beyond the end of an answer
		}
		if d := r.Decode; math.Abs(d.Step-each*r.MeanTPOT) > within*d.Step || d.Step != d.Plain {
			t.Errorf("%s: a step takes %g ms, a token %g for each of %g", name, d.Step, r.MeanTPOT,
				each)
		}
		for phase, p := range map[string]*scenarios.Phenomenon{"prefill": r.Prefill,
			"decode": r.Decode} {
			sum := 0.0
			for _, part := range p.Parts {
				sum += part
			}
			if math.Abs(sum-p.Step) > 1e-6*p.Step {
				t.Errorf("%s, %s: parts of %g ms, a step of %g", name, phase, sum, p.Step)
			}
		}
		if weights := r.Decode.Parts["weights"]; math.Abs(weights-r.Prefill.Parts["weights"]) >
			0.25*weights {
			t.Errorf("%s: weights take %g ms when decoding, %g in prefill", name, weights,
				r.Prefill.Parts["weights"])
		}
	}
}

// TTFT is queueing, prefill and front end, and the whole request has decode after it.
func TestTTFTIsTheSumOfItsParts(t *testing.T) {
	for _, c := range [][]string{{"chat"}, {"chat", "workload.rate=60/s"},
		{"chat", "parallelism.pipeline=2"}, {"speculation-on"},
		{"coding-agents", "workload.requests=30"},
		{"disaggregated", "workload.requests=200"}} {
		r := ran(t, c[0], c[1:]...)
		ttft := r.MeanQueue + r.MeanPrefill + r.MeanFrontEnd
		for _, sum := range [][2]float64{{ttft, r.MeanTTFT}, {ttft + r.MeanDecode, r.MeanE2EL}} {
			if math.Abs(sum[0]-sum[1]) > 1e-6*sum[1] {
				t.Errorf("%v: parts of %g ms, %g in all", c, sum[0], sum[1])
			}
		}
	}
}
