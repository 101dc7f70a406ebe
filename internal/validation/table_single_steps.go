package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Times of single steps inside an engine: prompts that are computed together, and sequences that
// decode at a context.
var (
	firstTokenColumns = []string{"model", "gpu", "dtype", "tensor_parallel", "engine", "isl",
		"batch", "ttft_ms"}
	tokenTimeColumns = []string{"model", "gpu", "dtype", "tensor_parallel", "engine", "batch",
		"context", "token_ms"}
)

var firstTokenRows = rowSpec{
	model: "model", gpu: "gpu", dtype: "dtype", tensor: "tensor_parallel",
	figures: []figure{{"ttft_ms", "first token", "ms", 1}},
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.engine, t.count, t.prompt = r.engine("engine"), r.batch("batch"), r.count("isl")
		t.inSteps(map[string]*sim.Step{"first token": prefill(t.count, t.prompt, 0)})
		t.Name = fmt.Sprintf("batch %d, %d in", t.count, t.prompt)
		return ""
	},
}

var tokenTimeRows = rowSpec{
	model: "model", gpu: "gpu", dtype: "dtype", tensor: "tensor_parallel",
	figures: []figure{{"token_ms", "token", "ms", 1}},
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.engine, t.count, t.prompt = r.engine("engine"), r.batch("batch"), r.count("context")
		t.inSteps(map[string]*sim.Step{"token": decode(t.count, t.prompt)})
		t.Name = fmt.Sprintf("batch %d at %d tokens", t.count, t.prompt)
		return ""
	},
}
