// Yourpolicy adds a batching policy of its own to llmsim, and compares it with vllm-v1 in a
// scenario that ships. It uses public packages only, and works as well in a module of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

func main() {
	registry, err := withOurs()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%-40s%9s%9s%9s\n", "TTFT in ms", "mean", "p50", "p99")
	for _, batching := range []string{"vllm-v1", "shortest-prompt",
		"{policy: shortest-prompt, ageing: 200}"} {
		r, err := serve(registry, "batching="+batching)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-40s%9.0f%9.0f%9.0f\n", batching, r.MeanTTFT, r.MedianTTFT, r.P99TTFT)
	}
}

// withOurs returns llmsim's policies and this program's.
func withOurs() (*policies.Registry, error) {
	registry := policies.Default()
	return registry, errors.Join(registry.Batching.Add(shortestPrompt()),
		registry.Routing.Add(longApart()), registry.Memory.Add(careful()))
}

// serve runs the chat scenario with changes: for a minute, with short answers and more prompts than
// the GPU can compute.
func serve(registry *policies.Registry, changes ...string) (*scenarios.Result, error) {
	changes = append([]string{"workload.rate=90/s", "workload.output=16", "workload.duration=1m"},
		changes...)
	file, err := scenarios.Load("chat", changes...)
	if err != nil {
		return nil, err
	}
	simulation, err := file.Build(registry)
	if err != nil {
		return nil, err
	}
	return simulation.Run(context.Background())
}

// shortestPrompt describes the policy: its name in scenarios, its parameters, and how to make one
// for a replica.
func shortestPrompt() policies.Policy[sim.Scheduler] {
	return policies.Policy[sim.Scheduler]{
		Name: "shortest-prompt",
		Doc:  "the shortest prompt first, with ageing",
		Params: []policies.Param{
			{Name: "max-sequences", Doc: "sequences in a batch", Default: "256"},
			{Name: "token-budget", Doc: "tokens in a step", Default: "8192"},
			{Name: "ageing", Doc: "prompt tokens that a second of waiting is worth", Default: "0",
				Kind: policies.Number},
		},
		New: func(_ policies.Deployment, v policies.Values) (sim.Scheduler, error) {
			return &ShortestPrompt{maxSequences: v.Count("max-sequences"),
				budget: v.Count("token-budget"), ageing: v.Number("ageing")}, nil
		},
	}
}
