package engines

import "math"

// The rules by which settings are computed, as Setting.Computed names them.
const (
	// RunningLimit is SGLangRunningLimit.
	RunningLimit = "running-limit"
	// StaticShare is SGLangStaticShare.
	StaticShare = "static-share"
	// LongestContext is the number of tokens of the longest context that is served.
	LongestContext = "longest-context"
)

// LeastRunning is the least value of SGLangRunningLimit, and mostRunning the largest.
const (
	LeastRunning = 2048
	mostRunning  = 4096
)

// SGLangRunningLimit returns the largest number of sequences that a rank of SGLang runs together:
// 512 for each longest context that its cache holds, within bounds, and one for each two tokens of
// a smaller cache (sglang/srt/model_executor/model_runner_kv_cache_mixin.py, v0.5.8).
func SGLangRunningLimit(tokens, context int) int {
	limit := float64(tokens) / float64(max(1, context)) * 512
	return max(1, min(int(max(LeastRunning, min(limit, mostRunning))), tokens/2))
}

// SGLangStaticShare returns SGLang's share of an accelerator's memory, in bytes, for weights and
// cache: all but what it reserves for chunks of prompts, captured graphs and parallelism
// (sglang/srt/server_args.py, v0.5.8, _handle_gpu_memory_settings). Tensor counts the accelerators
// of all data-parallel ranks.
func SGLangStaticShare(memory float64, chunk, graph, tensor, pipeline, data int) float64 {
	const mib = 1 << 20
	total := memory / mib
	reserved := 512 + 1.5*float64(max(chunk, 2048)) + 2*float64(graph) +
		float64(tensor*pipeline)*128
	if data > 1 {
		each := 3.0
		if graph > 300 {
			each += 1.5
		}
		reserved += each * float64(graph*data)
	}
	if total > 60*1024 {
		reserved = max(reserved, 10*1024)
	}
	return math.Round((total-reserved)/total*1000) / 1000
}
