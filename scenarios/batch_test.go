package scenarios_test

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// How many sequences of 131,072 tokens one node of eight H200 serves: the last column of the table
// of docs/models.md, within the 2 % by which what engines keep beside it changes with each fit.
func TestBatchOfLongContexts(t *testing.T) {
	for model, want := range map[string]int{
		"llama-3.1-70b": 20, "gemma-3-27b": 81, "deepseek-v3.2": 3, "kimi-k2.5": 5,
		"gpt-oss-120b":      191,
		"qwen3.5-397b-a17b": 10, "nemotron-3-super-120b-a12b": 200,
	} {
		file, err := scenarios.Describe(model, "h200-sxm", "parallelism.tensor=8",
			"engine.max-model-len=131072",
			"engine.kv-cache=bf16")
		testkit.OK(t, err)
		m, err := file.Memory(policies.Default())
		testkit.OK(t, err)
		if got := m.Plan.Contexts; got < want-(want+49)/50 || got > want+(want+49)/50 {
			t.Errorf("%s: %d sequences, want %d", model, got, want)
		}
	}
}
