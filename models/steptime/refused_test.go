package steptime

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// What vLLM and SGLang refuse to start is refused, and what they start is not.
func TestShardsThatEnginesRefuse(t *testing.T) {
	known, err := models.Load()
	testkit.OK(t, err)
	for _, c := range []struct {
		model    string
		parallel Parallelism
		weights  hardware.DType
		engine   string
		want     string // "" where it is started
	}{
		{"qwen3-235b-a22b", Parallelism{Tensor: 8}, hardware.FP8Block, "vllm-v1",
			"shards of 192 channels of expert_gate_up"},
		{"qwen3-235b-a22b", Parallelism{Tensor: 8, Expert: 8}, hardware.FP8Block, "vllm-v1", ""},
		{"qwen3-235b-a22b", Parallelism{Tensor: 4}, hardware.FP8Block, "sglang", ""},
		{"qwen3-235b-a22b", Parallelism{Tensor: 8}, hardware.FP8Block, "trtllm", ""},
		{"qwen3-235b-a22b", Parallelism{Tensor: 8}, hardware.FP8, "vllm-v1", ""},
		{"qwen3-coder-480b-a35b", Parallelism{Tensor: 8}, hardware.FP8Block, "sglang",
			"shards of 320 channels of expert_gate_up"},
		{"minimax-m2.5", Parallelism{Tensor: 8}, hardware.FP8Block, "vllm-v1",
			"shards of 192 channels of expert_gate_up"},
		{"deepseek-v3", Parallelism{Tensor: 16}, hardware.FP8Block, "vllm-v1", ""},
		{"deepseek-v3", Parallelism{Tensor: 32}, hardware.FP8Block, "vllm-v1",
			"shards of 576 channels of gate_up"},
		{"deepseek-v3", Parallelism{Tensor: 1, Data: 16, Expert: 16}, hardware.FP8Block,
			"vllm-v1", ""},
		{"llama-3.1-70b", Parallelism{Tensor: 8}, hardware.FP8Block, "vllm-v1", ""},
		{"deepseek-v2-lite", Parallelism{Tensor: 1}, hardware.FP8Block, "vllm-v1", ""},
		{"deepseek-v2-lite", Parallelism{Tensor: 2}, hardware.FP8Block, "vllm-v1",
			"shards of 5472 channels of gate_up"},
	} {
		a, err := known.Lookup(c.model)
		testkit.OK(t, err)
		engine, err := FindEngine(c.engine)
		testkit.OK(t, err)
		err = refuseShards(engine.Kernels, a, c.parallel.Complete(), c.weights)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %s on %+v under %s: found %v, want %q", c.model, c.weights,
				c.parallel, c.engine, err, c.want)
		}
	}
}
