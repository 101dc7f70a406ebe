package deployment_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// A server of Llama-3.1-8B on an H100 under vLLM, with a scheduler that the engine does not have.
func Example() {
	known, err := models.Load()
	if err != nil {
		log.Fatal(err)
	}
	machines, err := hardware.Load()
	if err != nil {
		log.Fatal(err)
	}
	model, _ := known.Lookup("llama-3.1-8b")
	h100, _ := machines.Accelerator("h100-sxm")
	engine, _ := steptime.FindEngine("vllm-v1")
	registry := policies.Default()
	batching, _ := deployment.Choose(&registry.Batching, "sarathi",
		map[string]string{"token-budget": "1024"})
	memory, _ := deployment.Choose(&registry.Memory, "paged", nil)
	server, err := deployment.New(deployment.Config{
		Model: model, Accelerator: &h100, Engine: engine, MaxContext: 8192,
		Policies: deployment.Policies{Batching: batching, Memory: memory},
	})
	if err != nil {
		log.Fatal(err)
	}
	replica, err := server.Replica(0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%T over %T, in blocks of %d tokens\n", replica.Scheduler, replica.Memory,
		server.Plan.BlockTokens)
	// Output: *batching.Continuous over *memory.Paged, in blocks of 16 tokens
}
