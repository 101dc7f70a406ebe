// Program ttft serves a model on an accelerator under a policy, and prints how long users wait for
// the first token.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

func main() {
	file, err := scenarios.Describe("llama-3.1-8b", "h100-sxm", "batching=sarathi",
		"workload.rate=8/s")
	if err != nil {
		log.Fatal(err)
	}
	result, err := file.Run(context.Background(), policies.Default())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("TTFT: median %.0f ms, p99 %.0f ms\n", result.MedianTTFT, result.P99TTFT)
}
