package engines

import (
	"testing"

	"github.com/llmsim/llmsim/models/steptime"
)

// The shares by which engines divide an accelerator's memory follow from each other: of 81 GB, 70
// are usable, of which weights take 40, activations 4 and the engine 1. So the KV cache has 25,
// weights and cache have 65 of the 80 beside the engine, and the cache has 25 of the 36 that the
// rest leaves.
func TestSharesOfMemory(t *testing.T) {
	plan := steptime.MemoryPlan{Total: 81e9, Usable: 70e9, Weights: 38e9, Draft: 2e9,
		Activations: 4e9, Context: 1e9}
	if got := staticShare(&plan); got != "0.8125" {
		t.Errorf("mem_fraction_static %s, want 65/80", got)
	}
	if got := freeShare(&plan); got != "0.6944" {
		t.Errorf("free_gpu_memory_fraction %s, want 25/36", got)
	}
}
