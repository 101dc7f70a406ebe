package steptime

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/sim"
)

// A release's own back end of routed experts takes the time that it takes when asked for: vLLM's in
// FP8 by block on Hopper is Triton under TP and FlashInfer's CUTLASS under EP from 0.16 on, the
// latter alone in 0.15, and in 0.11.0 DeepGEMM, but Triton below 128 tokens. Of slices of TP 8,
// Triton is the faster one. What the engine lacks, and kin that lend constants, are named.
func TestBackEndsOfExpertsHaveTheirTimes(t *testing.T) {
	model, gpu := known(t, "deepseek-v3", "h200-sxm")
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	scaleUp, err := catalog.Link(gpu.ScaleUp)
	testkit.OK(t, err)
	clock := func(release string, expert int, asked string) (*Clock, error) {
		engine, err := FindEngine("vllm-v1")
		testkit.OK(t, err)
		engine.Experts = asked
		version, err := engines.ParseVersion(release)
		testkit.OK(t, err)
		return New(Config{Model: model, Accelerator: &gpu, ScaleUp: &scaleUp, Engine: engine,
			Version: version, Parallel: Parallelism{Tensor: 8, Expert: expert},
			Weights: hardware.FP8Block})
	}
	takes := func(release string, expert int, asked string, tokens int) sim.Time {
		c, err := clock(release, expert, asked)
		testkit.OK(t, err)
		return c.Duration(&sim.Step{Prefill: []sim.Chunk{{New: tokens, Last: true}}})
	}
	for _, c := range []struct {
		release        string
		expert, tokens int
		want, other    string
	}{
		{"0.19", 1, 8192, "triton", "flashinfer-cutlass"},
		{"0.19", 8, 8192, "flashinfer-cutlass", "triton"},
		{"0.15.1", 1, 8192, "flashinfer-cutlass", "triton"},
		{"0.15.1", 8, 8192, "flashinfer-cutlass", "triton"},
		{"0.11.0", 1, 128, "deepgemm", "triton"},
		{"0.11.0", 1, 127, "triton", "deepgemm"},
	} {
		own := takes(c.release, c.expert, "", c.tokens)
		want := takes(c.release, c.expert, c.want, c.tokens)
		other := takes(c.release, c.expert, c.other, c.tokens)
		if own != want || own == other {
			t.Errorf("%s, EP %d, %d tokens: %v, want %v of %s, not %v of %s", c.release, c.expert,
				c.tokens, own, want, c.want, other, c.other)
		}
	}
	if a, b := takes("0.19", 1, "triton", 8192), takes("0.19", 1, "flashinfer-cutlass",
		8192); a >= b {
		t.Errorf("slices take %v by Triton and %v by CUTLASS", a, b)
	}
	for asked, want := range map[string]string{"": "triton in bf16",
		"aiter": "is not known to have experts in fp8-block by aiter"} {
		c, err := clock("0.19", 1, asked)
		testkit.OK(t, err)
		if !slices.ContainsFunc(c.Warnings(), func(w string) bool {
			return strings.Contains(w, want)
		}) {
			t.Errorf("%q lacks %q", c.Warnings(), want)
		}
	}
}
