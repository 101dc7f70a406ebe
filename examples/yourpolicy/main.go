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
	return registry, errors.Join(
		registry.Batching.Add(policies.Policy[sim.Scheduler]{Name: "shortest-prompt",
			Doc: "the shortest prompt first, with ageing", Settings: ShortestPrompt{}}),
		registry.Routing.Add(policies.Policy[sim.Router]{Name: "long-apart",
			Doc: "long prompts to the last replica, others to any", Settings: LongApart{}}),
		registry.Memory.Add(policies.Policy[sim.Memory]{Name: "careful",
			Doc:      "blocks of 16 tokens, some of which newcomers leave free",
			Settings: Careful{}}))
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
