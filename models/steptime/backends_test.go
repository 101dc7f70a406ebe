package steptime

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
		engine.Asked = map[engines.Operator]string{engines.Experts: asked}
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

// A back end of attention, products or exchanges takes the times of the engine's own, which were
// measured: whatever is asked for, in any release, each step takes as long. Only where it is not
// the own choice of a measured release are kin named, in one warning for each operator, and only
// what is asked for beside the own choice is marked as asked.
func TestOtherBackEndsHaveTheTimesOfKin(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	all := t
	rapid.Check(t, func(t *rapid.T) {
		model, gpu := known(all, rapid.SampledFrom([]string{"deepseek-v3", "llama-3.1-8b",
			"gpt-oss-20b", "deepseek-v3.2"}).Draw(t, "model"),
			rapid.SampledFrom([]string{"h200-sxm", "b200-sxm", "a100-80gb-sxm"}).Draw(t, "gpu"))
		scaleUp, err := catalog.Link(gpu.ScaleUp)
		testkit.OK(t, err)
		name := rapid.SampledFrom([]string{"vllm", "sglang", "trtllm"}).Draw(t, "engine")
		registry, err := engines.Find(name, "")
		testkit.OK(t, err)
		measured := rapid.SampledFrom(registry.Evidence).Draw(t, "release")
		cfg := Config{Model: model, Accelerator: &gpu, ScaleUp: &scaleUp,
			Version: measured.Version, Parallel: Parallelism{Tensor: 1}}
		if model.Experts() != nil {
			cfg.Parallel.Data = 8
		}
		cfg.Engine, err = FindEngine(measured.Preset)
		testkit.OK(t, err)
		own, err := New(cfg)
		if err != nil {
			return
		}
		of := rapid.SampledFrom(engines.Operators()[1:]).Draw(t, "operator")
		var names []string
		for i := range registry.Kernels {
			if name := registry.Kernels[i].Name; registry.CheckBackend(of, name) == nil {
				names = append(names, name)
			}
		}
		if names == nil {
			return
		}
		asked := rapid.SampledFrom(names).Draw(t, "asked")
		cfg.Engine.Asked = map[engines.Operator]string{of: asked}
		other, err := New(cfg)
		testkit.OK(t, err)
		step := &sim.Step{Decodes: 3, DecodeTokens: 3, Context: 3000,
			Prefill: []sim.Chunk{{New: rapid.IntRange(1, 4096).Draw(t, "tokens"), Last: true}}}
		if a, b := own.Duration(step), other.Duration(step); a != b {
			t.Fatalf("%s by %s takes %v, and %v by the own choice", of, asked, b, a)
		}
		before := map[engines.Operator]Chosen{}
		for _, b := range own.Backends() {
			before[b.Operator] = b
			if b.Asked || b.Name == "" || b.Kin == b.Name {
				t.Fatalf("unasked: %+v", b)
			}
		}
		for _, b := range other.Backends() {
			unasked := before[b.Operator]
			switch {
			case b.Operator != of && b != unasked:
				t.Fatalf("asked for %s by %s, found %+v, before %+v", of, asked, b, unasked)
			case b.Operator == of && (b.Name != asked || b.Asked != (unasked.Name != asked)):
				t.Fatalf("asked for %s, found %+v in place of %+v", asked, b, unasked)
			}
			words := b.Operator.Title() + " by " + b.Name + ": no server of " + measured.Preset
			if b.Operator != engines.Experts && slices.ContainsFunc(other.Warnings(),
				func(w string) bool { return strings.HasPrefix(w, words) }) != (b.Kin != "") {
				t.Fatalf("%+v beside %q", b, other.Warnings())
			}
		}
	})
}
