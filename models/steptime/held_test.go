package steptime

import (
	"math"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/sim"
)

// What kernels that go through all experts of an accelerator cost beside others is the time for one
// times the experts that it has times the layers: the same for any number of tokens, and half of it
// where twice as many accelerators share the experts.
func TestHeldExpertsTakeTheirTime(t *testing.T) {
	const each = 4e-6
	model, h100 := known(t, "qwen3-235b-a22b", "h100-sxm")
	machines, err := hardware.Load()
	testkit.OK(t, err)
	link, err := machines.Link(h100.ScaleUp)
	testkit.OK(t, err)
	version, err := engines.ParseVersion("0.11.1")
	testkit.OK(t, err)
	duration := func(accelerators int, held hardware.Seconds, s *sim.Step) float64 {
		t.Helper()
		engine, err := FindEngine("vllm-v1-sync")
		testkit.OK(t, err)
		engine.Served.Backends = slices.Clone(engine.Served.Backends)
		for i := range engine.Served.Backends {
			engine.Served.Backends[i].Held = held
		}
		clock, err := New(Config{Model: model, Accelerator: &h100, ScaleUp: &link,
			Parallel: Parallelism{Tensor: accelerators, Expert: accelerators},
			Weights:  hardware.FP8Block, Engine: engine, Version: version})
		testkit.OK(t, err)
		return clock.Duration(s).Seconds()
	}
	for _, n := range []int{4, 8} {
		want := each * float64(model.Experts().Experts/n*model.Layers())
		for _, s := range []*sim.Step{
			{Decodes: 1, DecodeTokens: 1, Context: 100},
			{Decodes: 256, DecodeTokens: 256, Context: 100_000},
			{Prefill: []sim.Chunk{{New: 4096, Last: true}}},
		} {
			got := duration(n, each, s) - duration(n, 0, s)
			if math.Abs(got/want-1) > 1e-3 {
				t.Errorf("experts of %d accelerators take %.3g s more in a step, want %.3g", n, got,
					want)
			}
		}
	}
}
