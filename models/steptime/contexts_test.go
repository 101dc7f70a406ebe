package steptime

import (
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Accelerators that divide contexts hold as many times the tokens as vLLM logs: of Kimi-K2.6 on
// eight RTX PRO 6000 (local-inference-lab/rtx6kpro, models/kimi-k26-v2.md, "KV Cache", no MTP).
func TestDividedContextsHoldMoreTokens(t *testing.T) {
	machines, _ := catalogues(t)
	a, err := machines.Accelerator("rtx-pro-6000")
	testkit.OK(t, err)
	tokens := map[int]int{1: 491_200, 4: 1_964_992, 8: 3_929_600}
	predicted := map[int]float64{}
	for ranks := range tokens {
		p, err := Plan(MemoryConfig{Model: lookUp(t, "kimi-k2"), Accelerator: &a,
			Parallel: Parallelism{Tensor: 8, Context: ranks}, Weights: hardware.INT4,
			KV: hardware.FP8, Utilisation: 0.94, TokenBudget: 8192, Sequences: 128})
		testkit.OK(t, err)
		predicted[ranks] = float64(p.Tokens)
	}
	for ranks, n := range tokens {
		want := float64(n) / float64(tokens[1])
		if got := predicted[ranks] / predicted[1]; math.Abs(got/want-1) > 2e-4 {
			t.Errorf("%d accelerators hold %g times the tokens of one, measured %g", ranks, got,
				want)
		}
	}
}

// A divided context is read in parts, and layers with windows are refused. What accelerators
// exchange for it grows with the sequences alone.
func TestDividedContextsAreReadInParts(t *testing.T) {
	machines, _ := catalogues(t)
	a, err := machines.Accelerator("h100-sxm")
	testkit.OK(t, err)
	network, err := machines.Link("infiniband-ndr")
	testkit.OK(t, err)
	step := func(n, context int) *sim.Step {
		return &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n * context)}
	}
	for name, c := range map[string]struct {
		share  float64 // of the time of a context
		cached int     // tokens after which prompts exchange something
	}{"llama-3.1-70b": {0.5, 0}, "deepseek-v3": {1, 60000}} {
		cfg := Config{Model: lookUp(t, name), Accelerator: &a, ScaleUp: nvlink4,
			Network: &network, Engine: Engines()[0], Parallel: Parallelism{Tensor: 16}}
		whole := mustClock(t, cfg)
		cfg.Parallel.Context = 2
		parts := mustClock(t, cfg)
		decode := func(c *Clock, n, context int) float64 {
			return operators(c, step(n, context))["attention_decode"].Seconds()
		}
		for _, n := range []int{8, 64} {
			slope := func(c *Clock) float64 { return decode(c, n, 16000) - decode(c, n, 4000) }
			if got := slope(parts) / slope(whole); got > c.share*1.01 || got < 0.49 {
				t.Errorf("%s: contexts take %g times as long, want up to %g", name, got, c.share)
			}
		}
		added := func(n int) float64 { return decode(parts, n, 16) - decode(whole, n, 16) }
		if few, many := added(1), added(256); few <= 0 || many <= few {
			t.Errorf("%s: an exchange of %g s for one sequence, %g s for 256", name, few, many)
		}
		s := &sim.Step{Prefill: []sim.Chunk{{New: 500, Cached: c.cached}}}
		if operators(parts, s)["attention_prefill"] <= operators(whole, s)["attention_prefill"] {
			t.Errorf("%s: prompts exchange nothing", name)
		}
		cfg.Model = lookUp(t, "gpt-oss-120b")
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "windows") {
			t.Errorf("a model with windows: %v", err)
		}
	}
}

// lookUp returns a model of the catalogue.
func lookUp(t *testing.T, name string) *models.Architecture {
	t.Helper()
	known, err := models.Load()
	testkit.OK(t, err)
	a, err := known.Lookup(name)
	testkit.OK(t, err)
	return a
}
