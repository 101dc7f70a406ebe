package steptime

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

func TestMistakesAreExplained(t *testing.T) {
	engine := Engines()[0]
	for want, cfg := range map[string]Config{
		"does not divide the 32 attention heads":  {Parallel: Parallelism{Tensor: 3}},
		"one of [1 2 4 8 16 32]":                  {Parallel: Parallelism{Tensor: 5}},
		"40 pipeline stages are more than the 32": {Parallel: Parallelism{Pipeline: 40}},
		"needs a mixture of experts": {
			Parallel: Parallelism{Tensor: 2, Expert: 2}},
		"2 accelerators need a link between them":    {Parallel: Parallelism{Tensor: 2}},
		"4 accelerators need a link between them":    {Parallel: Parallelism{Pipeline: 4}},
		"need a network: a node of h100-sxm holds 8": {Parallel: Parallelism{Pipeline: 16}},
		"expert parallelism 3 must divide tensor": {
			Model: mixtral(), Parallel: Parallelism{Tensor: 2, Expert: 3}, ScaleUp: nvlink4},
		"decode-context 3 must divide tensor parallelism 4": {
			Parallel: Parallelism{Tensor: 4, Context: 3}},
		"want at most 1, the accelerators that keep each of the 8 KV": {
			Parallel: Parallelism{Tensor: 8, Context: 2}},
		"decode-context 4: want at most 2": {
			Parallel: Parallelism{Tensor: 16, Context: 4}},
		"use replicas: 4 instead": {Parallel: Parallelism{Data: 4}},
		"leave expert out, or make it 8, or 1 to split": {
			Model: mixtral(), Parallel: Parallelism{Tensor: 2, Data: 4, Expert: 2},
			ScaleUp: nvlink4},
		"8 experts of mixtral-8x7b; use one of [2 4 8]": {
			Model: mixtral(), Parallel: Parallelism{Data: 16}, ScaleUp: nvlink4, Network: network},
		"neither divides the 8 KV heads of mixtral-8x7b": {
			Model: mixtral24(), Parallel: Parallelism{Tensor: 3}, ScaleUp: nvlink4},
	} {
		cfg.Accelerator, cfg.Engine = h100(), engine
		if cfg.Model == nil {
			cfg.Model = llama8B()
		}
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("nothing runs on nothing")
	}
	if _, err := FindEngine("vllm"); err == nil || !strings.Contains(err.Error(), "vllm-v1") {
		t.Errorf("%v", err)
	}
}

// mixtral24 has 24 heads, which 3 divides, and 8 KV heads, which it does not.
func mixtral24() *models.Architecture {
	m := mixtral()
	m.Attends().Heads = 24
	return m
}

func TestStandInsAreWarnedOf(t *testing.T) {
	a := h100()
	delete(a.Peak, hardware.BF16)
	a.Name, a.Generation = "h100-experimental", "hopper"
	c := mustClock(t, Config{Model: llama8B(), Accelerator: a, Engine: Engines()[0]})
	all := strings.Join(c.Warnings(), "\n")
	for _, want := range []string{"h100-experimental has no constants of its own",
		"no peak rate for bf16: computed in fp16"} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings lack %q:\n%s", want, all)
		}
	}
	if ws := mustClock(t, Config{Model: llama8B(), Accelerator: h100(),
		Engine: Engines()[0]}).Warnings(); len(ws) > 0 {
		t.Errorf("a measured accelerator warns: %v", ws)
	}
}

func TestEnginesHaveSources(t *testing.T) {
	for _, e := range Engines() {
		if e.Name == "" || e.Title == "" || len(e.Source) < 20 {
			t.Errorf("%q has no title or source", e.Name)
		}
		if e.Lookahead < 0 || e.Lookahead > 1 || e.Compute < 0 || e.Compute > 1.5 {
			t.Errorf("%s is out of range: %+v", e.Name, e)
		}
	}
}

// A step with weights in 16 bits or fewer takes as long for a model that is published in FP32 as
// for the same one in BF16, and weights in FP16 are computed in FP16, whatever was published.
func TestNarrowWeightsAreComputedIn16Bits(t *testing.T) {
	step := &sim.Step{Decodes: 8, DecodeTokens: 8, Context: 8 * 500,
		Prefill: []sim.Chunk{{New: 300}}}
	same := func(a, b, weights hardware.DType) {
		t.Helper()
		took := func(published hardware.DType) sim.Time {
			m := *llama8B()
			m.DType = published
			return mustClock(t, Config{Model: &m, Accelerator: h100(), Engine: Engines()[0],
				Weights: weights}).Duration(step)
		}
		if took(a) != took(b) {
			t.Errorf("weights in %s: a step takes %v where they are published in %s, and %v in %s",
				weights, took(a), a, took(b), b)
		}
	}
	for _, weights := range []hardware.DType{hardware.BF16, hardware.FP8, hardware.FP8Block,
		hardware.INT8, hardware.INT4, hardware.MXFP4} {
		same(hardware.FP32, hardware.BF16, weights)
	}
	same(hardware.BF16, hardware.FP16, hardware.FP16)
	same(hardware.FP32, hardware.FP16, hardware.FP16)
}
