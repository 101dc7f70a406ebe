package sim_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// A static batch whose prompts are computed as far as the shortest goes, and then token by token,
// takes as many steps as the longest prompt with its answer is longer than the shortest prompt
// (FasterTransformer v4.0, gpt.h: for (step = input_len; …)).
func TestStaticFeedsPromptsTokenByToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var requests []sim.Request
		shortest, longest := 1000, 0
		for id := range rapid.IntRange(1, 8).Draw(t, "requests") {
			r := sim.Request{ID: int64(id), Prompt: rapid.IntRange(1, 60).Draw(t, "prompt"),
				Output: rapid.IntRange(1, 60).Draw(t, "output")}
			requests = append(requests, r)
			shortest, longest = min(shortest, r.Prompt), max(longest, r.Prompt+r.Output)
		}
		s, err := batching.NewStatic(8, 0, batching.Shortest, false)
		testkit.OK(t, err)
		m, err := memory.NewPaged(100, 16)
		testkit.OK(t, err)
		r, err := sim.Run(context.Background(), sim.Config{
			Source: &listSource{requests: requests}, Router: &routing.RoundRobin{},
			Replicas: []sim.ReplicaConfig{
				{Scheduler: s, Memory: m, Clock: affineClock{base: 1000}}},
		})
		testkit.OK(t, err)
		if got := r.Replicas[0].Steps; got != int64(longest-shortest) {
			t.Fatalf("%d steps, want %d", got, longest-shortest)
		}
	})
}
