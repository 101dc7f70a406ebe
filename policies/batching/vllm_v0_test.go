package batching_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// With chunked prefill, no step of vLLM V0 has more tokens than its budget; and where each request
// generates one token, no prompt that started gives way, since all of it had room.
func TestV0StartsPromptsThatFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const budget = 8
		tokens := rapid.IntRange(60, 200).Draw(t, "tokens")
		var jobs sim.List
		for i, n := range rapid.SliceOfN(rapid.IntRange(1, 60), 1, 20).Draw(t, "prompts") {
			jobs = append(jobs, sim.Request{Prompt: n, Output: 1, Class: i})
		}
		m, err := memory.NewPaged(int64(tokens), 1)
		if err != nil {
			t.Fatal(err)
		}
		got := &starts{first: map[int]sim.Time{}}
		prompts := 0
		for i := range jobs {
			prompts += jobs[i].Prompt
		}
		if _, err := sim.Run(context.Background(), sim.Config{
			Source: &jobs, Router: &routing.RoundRobin{}, Observer: got,
			Replicas: []sim.ReplicaConfig{{Memory: m, Clock: server{step: step},
				Scheduler: build(t, "vllm-v0", budget, map[string]string{
					"token-budget": "8", "watermark": "0", "chunked-prefill": "true"})}},
		}); err != nil {
			t.Fatal(err)
		}
		last := sim.Time(0)
		for _, at := range got.first {
			last = max(last, at)
		}
		if got.preempted > 0 || last < sim.Time(prompts/budget) {
			t.Fatalf("%d tokens of prompts take %d steps of %d, and %d gave way", prompts, last,
				budget, got.preempted)
		}
	})
}
