package steptime_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// A step of 32 sequences takes hardly longer than one of a single sequence: both read all weights.
func ExampleClock() {
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
	clock, err := steptime.New(steptime.Config{Model: model, Accelerator: &h100, Engine: engine})
	if err != nil {
		log.Fatal(err)
	}
	alone := clock.Duration(&sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1000})
	together := clock.Duration(&sim.Step{Decodes: 32, DecodeTokens: 32, Context: 32 * 1000})
	fmt.Println("less than twice as long:", together < 2*alone)
	// Output: less than twice as long: true
}

// Weights leave little of an L4 for the KV cache: no context of the length that the model was made
// for.
func ExamplePlan() {
	known, err := models.Load()
	if err != nil {
		log.Fatal(err)
	}
	machines, err := hardware.Load()
	if err != nil {
		log.Fatal(err)
	}
	model, _ := known.Lookup("llama-3.1-8b")
	l4, _ := machines.Accelerator("l4")
	engine, _ := steptime.FindEngine("vllm-v1")
	plan, err := steptime.Plan(steptime.MemoryConfig{
		Model: model, Accelerator: &l4, Engine: engine, TokenBudget: 2048, Sequences: 256,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("weights %.1f GB; a context of %d tokens fits: %t\n",
		plan.Weights/1e9, model.MaxContext, plan.Longest() >= model.MaxContext)
	// Output: weights 16.1 GB; a context of 131072 tokens fits: false
}

func ExampleFindEngine() {
	_, err := steptime.FindEngine("vllm-v9")
	fmt.Println(err != nil)
	// Output: true
}
