package launch

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// trtllmConfig is the file in which TensorRT-LLM finds what has no flag: the fields of
// tensorrt_llm/llmapi/llm_args.py, v1.0, that a scenario says something of; those of the wait for
// others are of v1.1.
type trtllmConfig struct {
	AttentionDP    bool               `yaml:"enable_attention_dp"`
	NoOverlap      bool               `yaml:"disable_overlap_scheduler,omitempty"`
	ChunkedPrefill bool               `yaml:"enable_chunked_prefill"`
	WaitSteps      int                `yaml:"batch_wait_timeout_iters,omitempty"`
	WaitTokens     float64            `yaml:"batch_wait_max_tokens_ratio,omitempty"`
	Cache          trtllmCache        `yaml:"kv_cache_config"`
	Graphs         *trtllmGraphs      `yaml:"cuda_graph_config,omitempty"`
	Transceiver    *trtllmTransceiver `yaml:"cache_transceiver_config,omitempty"`
	// Others are fields that a scenario says nothing of.
	Others map[string]any `yaml:",inline"`
}

type trtllmCache struct {
	BlockReuse *bool          `yaml:"enable_block_reuse,omitempty"`
	FreeShare  float64        `yaml:"free_gpu_memory_fraction,omitempty"`
	Tokens     int            `yaml:"max_tokens,omitempty"` // of a rank
	BlockSize  int            `yaml:"tokens_per_block,omitempty"`
	DType      string         `yaml:"dtype,omitempty"`
	Others     map[string]any `yaml:",inline"`
}

type trtllmGraphs struct {
	Padding      bool           `yaml:"enable_padding"`
	MaxBatchSize int            `yaml:"max_batch_size"`
	Others       map[string]any `yaml:",inline"`
}

type trtllmTransceiver struct {
	Backend string         `yaml:"backend"`
	Others  map[string]any `yaml:",inline"`
}

// trtllmConfigOf returns the file of a group. Graphs are captured for all batches that the scenario
// does not launch kernel by kernel.
func trtllmConfigOf(d *deployed) *trtllmConfig {
	reuse := caches(d.memory.Policy)
	c := &trtllmConfig{
		AttentionDP: d.parallelism.Data > 1,
		ChunkedPrefill: d.batching.Policy != "trtllm" ||
			d.batching.Params["chunked-context"] == "true",
		Cache: trtllmCache{BlockReuse: &reuse, Tokens: d.tokens()},
	}
	if d.engine.KVCache == "fp8" {
		c.Cache.DType = "fp8"
	}
	c.WaitSteps, _ = strconv.Atoi(d.batching.Params["wait-steps"]) // 0 where there is none
	c.WaitTokens, _ = strconv.ParseFloat(d.batching.Params["wait-tokens"], 64)
	batch, _ := strconv.Atoi(d.perRank("max-sequences"))
	if batch = min(batch, d.engine.Graph); batch > 1 {
		c.Graphs = &trtllmGraphs{Padding: true, MaxBatchSize: batch}
	}
	// Engines that only compute prompts cannot schedule ahead (examples/disaggregated/README.md).
	c.NoOverlap = d.role == "prefill"
	if d.role != "mixed" {
		c.Transceiver = &trtllmTransceiver{Backend: "DEFAULT"}
	}
	return c
}

// trtllmConfig turns the file of a name into keys.
func (r *reading) trtllmConfig(name string) {
	text, found := r.file(path.Base(name))
	if !found {
		r.note("%s is not at hand: its enable_attention_dp is parallelism.data, its "+
			"kv_cache_config.dtype engine.kv-cache; set these", name)
		return
	}
	var c trtllmConfig
	if err := unmarshal(text, &c); err != nil {
		r.note("%s was left out: %v", name, err)
		return
	}
	r.takeFields(c.Others)
	if c.AttentionDP {
		r.set("attention", "data")
	}
	if c.ChunkedPrefill {
		r.set("batching.chunked-context", "true")
	}
	if c.WaitSteps > 0 {
		r.set("batching.wait-steps", strconv.Itoa(c.WaitSteps))
	}
	if c.WaitTokens > 0 {
		r.set("batching.wait-tokens", strconv.FormatFloat(c.WaitTokens, 'g', -1, 64))
	}
	if reuse := c.Cache.BlockReuse; reuse != nil && !*reuse {
		r.set("memory.policy", "paged")
	}
	if c.Cache.FreeShare > 0 {
		r.set("memory.kv-share", strconv.FormatFloat(c.Cache.FreeShare, 'g', -1, 64))
	}
	if c.Cache.Tokens > 0 {
		r.set("memory.tokens", strconv.Itoa(c.Cache.Tokens))
	}
	if c.Cache.BlockSize > 0 {
		r.set("memory.block-size", strconv.Itoa(c.Cache.BlockSize))
	}
	if dtype, err := format(cmp.Or(c.Cache.DType, "auto")); err != nil {
		r.note("kv_cache_config.dtype %s was left out: %v", c.Cache.DType, err)
	} else if dtype != "" {
		r.set("engine.kv-cache", dtype)
	}
	if c.Graphs != nil && c.Graphs.MaxBatchSize > 0 &&
		c.Graphs.MaxBatchSize < r.number("batching.max-sequences", 0) {
		r.set("engine.graph", strconv.Itoa(c.Graphs.MaxBatchSize))
	}
	if c.NoOverlap && c.Transceiver == nil {
		r.note("disable_overlap_scheduler: %s", noSchedule)
	}
	if c.Transceiver != nil {
		r.setPool("cache_transceiver_config", "mixed")
	}
	for section, others := range map[string]map[string]any{"": c.Others,
		"kv_cache_config.": c.Cache.Others} {
		for _, field := range slices.Sorted(maps.Keys(others)) {
			r.note("%s%s of %s was left out: a scenario has nothing for it", section, field, name)
		}
	}
}

// takeFields takes over the counts in a file that flags of the same names set, and removes them.
// The file stands above the flags (tensorrt_llm/llmapi/llm_args.py, v1.0,
// update_llm_args_with_extra_dict).
func (r *reading) takeFields(fields map[string]any) {
	for _, o := range trtllmOptions() {
		for _, flag := range o.flags {
			field := strings.TrimPrefix(flag, "--")
			n, is := fields[field].(int)
			if !is || n < 1 || o.key == "" {
				continue
			}
			r.set(o.key, strconv.Itoa(n))
			delete(fields, field)
		}
	}
}
