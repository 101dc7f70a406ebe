package scenarios

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// single hides that a clock can be leaped.
type single struct{ sim.StepClock }

// The work of a run does not depend on whether its decode steps are leaped: sliding windows that
// fill, latent attention, and experts included.
func TestLeapsDoTheWorkOfSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		overrides := []string{
			"model=" + rapid.SampledFrom([]string{"llama-3.1-8b", "mistral-7b", "deepseek-v2-lite",
				"mixtral-8x7b"}).Draw(t, "model"),
			"batching.policy=" + rapid.SampledFrom([]string{"vllm-v1", "orca", "static"}).Draw(t,
				"batching"),
			"workload.rate=" + rapid.SampledFrom([]string{"0.1/s", "3/s", "50/s"}).Draw(t, "rate"),
			"workload.prompt=" +
				rapid.SampledFrom([]string{
					"3", "4080", "{distribution: uniform, min: 1, max: 900}"}).Draw(t, "prompt"),
			"workload.output=" +
				rapid.SampledFrom([]string{
					"2", "50", "{distribution: uniform, min: 1, max: 100}"}).Draw(t, "output"),
		}
		run := func(leaps bool) *Result {
			f, err := Parse("work.yaml",
				[]byte("hardware: h200-sxm\nparallelism: 1\nworkload: {requests: 20}\n"),
				overrides...)
			testkit.OK(t, err)
			s, err := f.Build(policies.Default())
			testkit.OK(t, err)
			if !leaps {
				s.ReplaceClocks(func(c sim.StepClock) sim.StepClock { return single{c} })
			}
			r, err := s.Run(context.Background())
			testkit.OK(t, err)
			return r
		}
		leaped, stepped := run(true), run(false)
		if leaped.MFU != stepped.MFU || leaped.MBU != stepped.MBU {
			t.Fatalf("leaping gives an MFU of %v and an MBU of %v, stepping %v and %v", leaped.MFU,
				leaped.MBU, stepped.MFU, stepped.MBU)
		}
	})
}
