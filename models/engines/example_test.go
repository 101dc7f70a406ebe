package engines_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/engines"
)

// What vLLM 0.17 does by itself on an H100, and how far it is from a version that was measured.
func ExampleFind() {
	release, err := engines.Find("vllm", "0.17.2")
	if err != nil {
		log.Fatal(err)
	}
	machines, err := hardware.Load()
	if err != nil {
		log.Fatal(err)
	}
	h100, _ := machines.Accelerator("h100-sxm")
	at := engines.Place{Accelerator: &h100}
	experts, _ := release.Backend(engines.Experts, hardware.FP8Block, at, "")
	fmt.Println(release.Preset, release.Measured)
	fmt.Println(release.Count("batching.max-sequences", at), experts.Name)
	// Output:
	// vllm-v1 0.17.1
	// 1024 triton
}
