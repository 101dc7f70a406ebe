package batching_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// A static batch that computes its prompts up to the shortest takes a step for that, and a step for
// each token by which the longest is longer. The shortest is looked for in the batch only.
func TestShortestPromptOfABatchSetsItsSteps(t *testing.T) {
	static, err := policies.Default().Batching.Lookup("static")
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		prompts := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 15).Draw(t, "prompts")
		var jobs sim.List
		for _, n := range prompts {
			jobs = append(jobs, sim.Request{Prompt: n, Output: 1})
		}
		var want []sim.Time
		var end sim.Time
		for batch := range slices.Chunk(prompts, size) {
			end += step * sim.Time(1+slices.Max(batch)-slices.Min(batch))
			for range batch {
				want = append(want, end)
			}
		}
		scheduler, err := static.Build(policies.Deployment{KVTokens: 1 << 40, MaxContext: 1 << 30},
			map[string]string{"batch-size": fmt.Sprint(size), "prompts": "shortest"})
		testkit.OK(t, err)
		var got ends
		simulate(t, &jobs, scheduler, server{step: step}, &got, 0)
		if !slices.Equal(got.at, want) {
			t.Fatalf("prompts of %v tokens in batches of %d end at %v, want %v", prompts, size,
				got.at, want)
		}
	})
}
