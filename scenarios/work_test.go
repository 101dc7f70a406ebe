package scenarios

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/must"
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
			must.OK(t, err)
			s, err := f.Build(policies.Default())
			must.OK(t, err)
			if !leaps {
				s.ReplaceClocks(func(c sim.StepClock) sim.StepClock { return single{c} })
			}
			r, err := s.Run(context.Background())
			must.OK(t, err)
			return r
		}
		leaped, stepped := run(true), run(false)
		if leaped.MFU != stepped.MFU || leaped.MBU != stepped.MBU {
			t.Fatalf("leaping gives an MFU of %v and an MBU of %v, stepping %v and %v", leaped.MFU,
				leaped.MBU, stepped.MFU, stepped.MBU)
		}
	})
}

// A run with leaps drafts what a run without leaps drafts, in the same time and with the same
// arithmetic, also where a policy takes sequences out of steps for which they have drafts, and
// where users leave.
func TestDraftsOfLeapsAreThoseOfSteps(t *testing.T) {
	registry, ran := policies.Default(), 0
	for seed := range uint64(300) {
		g := &generator{seed: seed, registry: registry}
		g.set("model", "gpt2")
		g.set("engine.preset", "vllm-v1-sync")
		g.choose("batching", "mlfq", "{policy: mlfq, quantum: 50ms}", "srtf")
		g.choose("memory.tokens", "800", "1600")
		g.speculate()
		g.choose("speculation.method", "medusa", "eagle")
		g.load()
		g.sometimes(3, "workload.sessions", "{turns: 3, think: 1s, thinking: {share: 0.5}}")
		leaps := runRandom(t, registry, seed, g.overrides, 0)
		if leaps == nil {
			continue
		}
		ran++
		steps := runRandom(t, registry, seed, g.overrides, 1)
		if d := leaps.differences(steps); len(d) > 0 {
			t.Errorf("scenario %d:\n\t%s\n%s", seed, strings.Join(g.overrides, "\n\t"),
				strings.Join(d, "\n"))
		}
	}
	if ran < 60 {
		t.Errorf("only %d of 300 scenarios ran", ran)
	}
}
