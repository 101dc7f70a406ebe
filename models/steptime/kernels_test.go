package steptime

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// mixture draws a mixture of experts of the catalogue in some number format on an accelerator of
// it.
func mixture(t *rapid.T, machines hardware.Catalog, known []*models.Architecture) Config {
	var mixtures []*models.Architecture
	for _, a := range known {
		if a.Experts() != nil {
			mixtures = append(mixtures, a)
		}
	}
	cfg := deployed(t, machines, mixtures)
	cfg.Parallel.Pipeline = 1
	cfg.Weights = rapid.SampledFrom([]hardware.DType{
		hardware.BF16, hardware.FP8, hardware.FP8Block, hardware.FP4, hardware.MXFP4, hardware.INT4,
	}).Draw(t, "format")
	skipRefused(t, &cfg)
	return cfg
}

// What was measured of kernels never lets experts compute or read faster than the hardware.
func TestExpertsDoNotBeatTheHardware(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		cfg := mixture(t, machines, known)
		c := mustClock(t, cfg)
		n := rapid.IntRange(1, 4096).Draw(t, "tokens")
		for _, o := range c.Breakdown(&sim.Step{Prefill: []sim.Chunk{{New: n}}}) {
			if o.Name != "expert_gate_up" && o.Name != "expert_down" {
				continue
			}
			limit := o.Time.Seconds()*1.001 + 1e-9
			if o.FLOPs/c.stage.products.operand.peak > limit || o.Bytes()/c.bandwidth > limit {
				t.Fatalf("%s of %s in %s on %s: %v for %g FLOP and %g B", o.Name, cfg.Model.Name,
					cfg.Weights,
					cfg.Accelerator.Name, o.Time, o.FLOPs, o.Bytes())
			}
		}
	})
}

// Fewer bits of weights never make a step slower where the arithmetic is the same, and an engine's
// own kernels are taken.
func TestEnginesHaveTheirOwnExperts(t *testing.T) {
	machines, known := catalogues(t)
	a, err := machines.Accelerator("h200-sxm")
	testkit.OK(t, err)
	link, err := machines.Link(a.ScaleUp)
	testkit.OK(t, err)
	var model *models.Architecture
	for _, m := range known {
		if m.Name == "deepseek-v3" {
			model = m
		}
	}
	seen := map[sim.Time]string{}
	for _, name := range []string{"vllm-v1", "sglang", "trtllm"} {
		engine, err := FindEngine(name)
		testkit.OK(t, err)
		c := mustClock(t, Config{
			Model: model, Accelerator: &a, ScaleUp: &link, Engine: engine,
			Weights: hardware.FP8Block, Parallel: Parallelism{Tensor: 8},
		})
		d := c.stage.byRouted.at(8192)
		if other, same := seen[d]; same {
			t.Errorf("%s has the experts of %s: %v", name, other, d)
		}
		seen[d] = name
		if c.stage.products.experts.Name == "" {
			t.Errorf("%s: experts without a measured kernel", name)
		}
	}
}

// In an engine whose products all have the same kernels, the number format of the weights changes
// what is read, not the rate of the arithmetic, for experts too.
func TestKernelsOfAllFormatsAreAlike(t *testing.T) {
	products := func(weights hardware.DType) *productCosts {
		cfg := named(t, "qwen3-30b-a3b", "gb10", "llama.cpp")
		cfg.Weights = weights
		return mustClock(t, cfg).stage.products
	}
	sixteen := products(hardware.BF16)
	for _, weights := range []hardware.DType{hardware.INT8, hardware.MXFP4, hardware.INT4} {
		c := products(weights)
		if c.operand.peak*c.operand.efficiency != sixteen.operand.peak*sixteen.operand.efficiency ||
			c.experts.Compute != sixteen.experts.Compute {
			t.Errorf("%s: products reach %g of %g and experts %g, in 16 bits %g of %g and %g",
				weights, c.operand.efficiency, c.operand.peak, c.experts.Compute,
				sixteen.operand.efficiency, sixteen.operand.peak, sixteen.experts.Compute)
		}
	}
}
