package steptime

import (
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/sim"
)

// TestLevels takes the level of a version where it holds: on its accelerators, for its formats, and
// no other step changes.
func TestLevels(t *testing.T) {
	engine, err := FindEngine("sglang")
	testkit.OK(t, err)
	before := func(text string) engines.Range {
		v, err := engines.ParseVersion(text)
		testkit.OK(t, err)
		return engines.Range{Below: v}
	}
	engine.Levels = []Level{{Versions: before("0.5.7"), Generations: []string{"cdna4"},
		Formats: []hardware.DType{hardware.BF16}, Fixed: 2, Work: 1.5}}
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	known, err := models.Load()
	testkit.OK(t, err)
	model, err := known.Lookup("llama-3.1-8b")
	testkit.OK(t, err)
	step := func(gpu, version string, weights hardware.DType) float64 {
		accelerator, err := catalog.Accelerator(gpu)
		testkit.OK(t, err)
		c := Config{Model: model, Accelerator: &accelerator, Engine: engine, Weights: weights}
		if version != "" {
			c.Version, _ = engines.ParseVersion(version)
		}
		clock, err := New(c)
		testkit.OK(t, err)
		d := clock.Decode(200, 200_000)
		return float64(d.At(200_000))
	}
	for _, c := range []struct {
		gpu, version string
		weights      hardware.DType
		slower       bool
	}{
		{"mi355x", "0.5.6", hardware.BF16, true},
		{"mi355x", "0.5.7", hardware.BF16, false},
		{"mi355x", "", hardware.BF16, false},
		{"mi355x", "0.5.6", hardware.FP8, false},
		{"mi300x", "0.5.6", hardware.BF16, false},
	} {
		ratio := step(c.gpu, c.version, c.weights) / step(c.gpu, "0.5.9", c.weights)
		if c.slower && !(ratio > 1.3 && ratio < 2) || !c.slower && ratio != 1 {
			t.Errorf("%s %s %s: %g times the newest version's time", c.gpu, c.version, c.weights,
				ratio)
		}
	}
}

// Kernels of an engine's own take no notice of what other libraries reach on the accelerator, and
// others do.
func TestOwnKernelsAreAlikeEverywhere(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	known, err := models.Load()
	testkit.OK(t, err)
	model, err := known.Lookup("mixtral-8x7b")
	testkit.OK(t, err)
	accelerator, err := catalog.Accelerator("l40s")
	testkit.OK(t, err)
	for name, want := range map[string]bool{"llama.cpp": true, "vllm-v1": false} {
		engine, err := FindEngine(name)
		testkit.OK(t, err)
		engine.Kernels = ""
		prompt := func(share float64) float64 {
			constants, _ := hardware.FittedConstants(&accelerator, nil, nil)
			constants.Linear.Compute = map[hardware.DType]float64{hardware.BF16: share}
			constants.Experts.Compute = constants.Linear.Compute
			constants.Attention.PrefillCompute = share
			clock, err := New(Config{Model: model, Accelerator: &accelerator, Engine: engine,
				Constants: &constants})
			testkit.OK(t, err)
			return float64(clock.Duration(&sim.Step{Prefill: []sim.Chunk{{New: 4096, Last: true}}}))
		}
		if alike := prompt(0.3) == prompt(0.6); alike != want {
			t.Errorf("%s takes %g and %g ns for a prompt on an accelerator whose libraries are "+
				"twice as good: alike is %t, want %t", name, prompt(0.3), prompt(0.6), alike, want)
		}
	}
}
