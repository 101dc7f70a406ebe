package scenarios_test

import (
	"context"
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

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
