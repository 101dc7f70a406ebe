package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// The blocks were resolved by vLLM servers with the limits of the vLLM runs.
var kvBlockColumns = []string{"model", "gpu", "tensor_parallel", "dtype", "gpu_memory_utilization",
	"kv_blocks"}

var kvBlockRows = rowSpec{
	model: "model", gpu: "gpu", dtype: "dtype", tensor: "tensor_parallel",
	figures: []figure{{"kv_blocks", "KV blocks", "blocks", 1}},
	describe: func(_ *catalogs, r *row, t *trial) string {
		engine, err := parseEngine(r.value("engine|=vllm"))
		if err != nil {
			r.fail(err)
		}
		t.engine, t.utilisation = engine, r.number("gpu_memory_utilization")
		t.maxSequences, t.tokenBudget = r.optionalCount("max_num_seqs", 128),
			r.optionalCount("max_num_batched_tokens", 2048)
		tokens := r.optionalCount("block_tokens", blockTokens)
		if r.err == nil && (t.utilisation <= 0 || t.utilisation > 1) {
			r.fail(fmt.Errorf("gpu_memory_utilization: found %g, want a share above 0, at most 1",
				t.utilisation))
		}
		t.steps = func(p *accuracy.Physics) (map[string]float64, error) {
			server, err := t.server(p, tokens)
			if err != nil {
				return nil, err
			}
			return map[string]float64{"KV blocks": float64(server.Plan.Blocks)}, nil
		}
		t.Name = fmt.Sprintf("utilisation %g", t.utilisation)
		return ""
	},
}
