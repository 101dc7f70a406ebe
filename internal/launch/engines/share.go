package engines

import (
	"strconv"

	"github.com/llmsim/llmsim/models/steptime"
)

// Engines divide memory by different shares. A scenario's utilization is vLLM's
// gpu_memory_utilization: of all memory, for everything that the engine needs.

// staticShare returns what SGLang calls mem_fraction_static: the share of all memory for weights
// and KV cache (docs.sglang.io/advanced_features/hyperparameter_tuning.html).
func staticShare(p *steptime.MemoryPlan) string {
	return share((p.Usable - p.Activations - p.Context) / p.Total)
}

// freeShare returns what TensorRT-LLM calls free_gpu_memory_fraction: the share for the KV cache of
// the memory that the largest step leaves (tensorrt_llm/_torch/pyexecutor/_util.py,
// _cal_max_memory).
func freeShare(p *steptime.MemoryPlan) string {
	taken := p.Weights + p.Draft + p.Activations + p.Context
	return share((p.Usable - taken) / (p.Total - taken))
}

// share writes a share with four digits, which is a few megabytes of an accelerator.
func share(x float64) string {
	return strconv.FormatFloat(x, 'g', 4, 64)
}
