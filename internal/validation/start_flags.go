package validation

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/engines"
)

// startFlags are the flags with which the server of a row was started, as the column script_flags
// has them: name=value, separated by ";". A name that begins with "?" is in doubt.
type startFlags map[string]string

// parseStartFlags reads such a text.
func parseStartFlags(text string) startFlags {
	flags := startFlags{}
	for _, flag := range strings.Split(text, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(flag), "="); name != "" {
			flags[name] = value
		}
	}
	return flags
}

// number returns the first of the flags that is a number above 0.
func (s startFlags) number(names ...string) (float64, bool) {
	for _, name := range names {
		if x, err := strconv.ParseFloat(s[name], 64); err == nil && x > 0 && x <= maxCount {
			return x, true
		}
	}
	return 0, false
}

// apply sets what the flags say in place of what is assumed of servers of that kind. Limits are for
// each of the ranks.
func (s startFlags) apply(l *trial) {
	ranks := max(1, l.Parallelism.Data)
	count := func(into *int, factor int, names ...string) {
		if x, ok := s.number(names...); ok {
			*into = int(x) * factor
		}
	}
	share := func(into *float64, names ...string) {
		if x, ok := s.number(names...); ok && x < 1 {
			*into = x
		}
	}
	count(&l.tokenBudget, ranks, "max-num-batched-tokens", "max_num_tokens", "chunked-prefill-size")
	count(&l.maxSequences, ranks, "max-num-seqs", "max_batch_size", "max-running-requests")
	count(&l.Engine.Graph, 1, "max-cudagraph-capture-size", "cuda-graph-sizes", "cuda-graph-max-bs",
		"cuda_graph_config.max_batch_size")
	if n, ok := s.number("scheduler-recv-interval"); ok {
		l.param("receive-interval", int(n))
	}
	if len(s) > 0 { // a server whose flags are known has newcomers wait only where they say so
		delete(l.Batching.Params, "wait-steps")
		steps, ok := s.number("batch_wait_timeout_iters")
		if tokens, some := s.number("batch_wait_max_tokens_ratio"); ok && some && tokens < 1 {
			l.wait(int(steps), tokens)
		}
	}
	share(&l.Memory.Utilization, "gpu-memory-utilization")
	share(&l.Memory.StaticShare, "mem-fraction-static")
	share(&l.Memory.KVShare, "kv_cache_config.free_gpu_memory_fraction")
	if strings.HasPrefix(s["kv-cache"]+s["kv-cache-dtype"]+s["kv_cache_config.dtype"], "fp8") {
		l.kv = hardware.FP8
	}
	compiled := s["compilation-config"]
	if strings.Contains(compiled, "FULL_DECODE_ONLY") {
		l.Engine.PromptGraphs = "off"
	}
	_, fused := s["enable-flashinfer-allreduce-fusion"]
	l.Engine.FusedAllReduce = fused || strings.Contains(compiled, "fuse_allreduce_rms:true") ||
		strings.Contains(compiled, "enable_fi_allreduce_fusion:true")
	l.Engine.ExpertsBackend = s.experts(&l.deployment)
	if s["torch_compile_config.enable_piecewise_cuda_graph"] == "True" {
		l.Engine.PromptGraphs = "on"
	}
}

// experts returns the back end of routed experts that the flags ask for; "" where they do not say.
func (s startFlags) experts(d *deployment) string {
	release, err := engines.Find(cmp.Or(d.Engine.Preset, "vllm"), d.version)
	if err != nil {
		release, _ = engines.Find(cmp.Or(d.Engine.Preset, "vllm"), "")
	}
	for _, flag := range []string{"moe-backend", "moe-runner-backend", "moe_config.backend"} {
		if name := s[flag]; name != "" {
			return engines.BackendName(name)
		}
	}
	return release.AskedBackend(engines.Experts, release.Version, s)
}

// withMTP reports whether flags have the server draft by multi-token prediction, beyond doubt.
func withMTP(flags string) bool {
	return strings.Contains(flags, "speculative=mtp") && !strings.Contains(flags, "?speculative")
}

// drafted returns the number of tokens that flags have the server draft; 0 where they do not say.
func (s startFlags) drafted() int {
	n, _ := s.number("speculative-num-steps", "speculative_config.num_nextn_predict_layers")
	return int(n)
}
