package evidence_test

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// A server that was measured is graded so; another weight format makes it a relative of that one.
func ExampleOf() {
	key := deployment.Key{
		Engine: "vllm-v1", Accelerator: "h100-sxm", Model: "llama-2-7b",
		Weights: hardware.FP16, KV: hardware.FP16, Tensor: 1, Pipeline: 1, Expert: 1, Data: 1,
		Batching: "vllm-v1", Memory: "paged",
	}
	e := evidence.Of(key, true)
	fmt.Println(e.Grade)
	key.Weights = hardware.FP8
	e = evidence.Of(key, true)
	fmt.Println(e.Grade+":", e.Differs)
	// Output:
	// measured
	// relative: [weights bf16]
}
