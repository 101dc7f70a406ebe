package scenarios_test

import (
	"context"
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// A name that is not known fails where it is given, with the nearest one.
func ExampleLoad() {
	for _, change := range []string{"batching=sarathy", "routing=rond-robin"} {
		file, err := scenarios.Load("chat", change)
		if err == nil {
			err = file.CheckNames(policies.Default())
		}
		fmt.Println(err)
	}
	// Output:
	// --set batching: batching.policy: unknown batching policy "sarathy"; did you mean sarathi?
	// --set routing: routing.policy: unknown routing policy "rond-robin"; did you mean round-robin?
}

// What a model takes of an accelerator's memory, before anything is run.
func ExampleFile_Memory() {
	file, err := scenarios.Describe("llama-3.1-8b", "h100-sxm")
	if err != nil {
		log.Fatal(err)
	}
	memory, err := file.Memory(policies.Default())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f GB of weights, room for %d tokens\n", memory.Plan.Weights/1e9,
		memory.Plan.Blocks*memory.Plan.BlockTokens)
	// Output: 16.1 GB of weights, room for 443568 tokens
}

// A metric says how a figure of a result is called, its unit, and which direction is better.
func ExampleMetricNamed() {
	m := scenarios.MetricNamed("p99_ttft_ms")
	fmt.Println(m.Title, "is better where lower:", m.Better == scenarios.Lower)
	// Output: 99th percentile of the time to first token is better where lower: true
}

// A scenario is text, as in a file; settings change single keys of it.
func ExampleParse() {
	text := "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: 8/s, requests: 200}\n"
	file, err := scenarios.Parse("chat.yaml", []byte(text), "batching=sarathi", "seed=7")
	if err != nil {
		log.Fatal(err)
	}
	result, err := file.Run(context.Background(), policies.Default())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d answers; the SLO is met: %t\n", result.Completed, result.SLOMet)
	// Output: 200 answers; the SLO is met: true
}
