package launch

import (
	"fmt"
	"strconv"
	"strings"
)

// trtllm describes TensorRT-LLM:
// https://nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve/.
func trtllm() engine {
	return engine{
		name: "trtllm", version: "1.0.0", image: "nvcr.io/nvidia/tensorrt-llm/release:1.0.0",
		port: 8000, preset: "trtllm",
		write: writeTRTLLM, options: trtllmOptions, settle: settleTRTLLM,
		program: func(words []string) int {
			switch {
			case len(words) > 1 && base(words[0]) == "trtllm-serve" && words[1] == "serve":
				return 2
			case len(words) > 0 && base(words[0]) == "trtllm-serve":
				return 1
			}
			return 0
		},
	}
}

func writeTRTLLM(d *deployed) ([]string, string) {
	f := flags{"trtllm-serve", "serve", d.model, "--backend", "pytorch", "--host", "0.0.0.0"}
	p := d.parallelism
	f.add("--tp_size", max(1, p.Tensor)*max(1, p.Data))
	if p.Pipeline > 1 {
		f.add("--pp_size", p.Pipeline)
	}
	if p.Expert > 1 {
		f.add("--ep_size", p.Expert)
	}
	f.param("--max_batch_size", d.batching.Params["max-sequences"])
	f.param("--max_num_tokens", d.batching.Params["token-budget"])
	f.add("--max_seq_len", d.engine.MaxModelLen)
	f.add("--kv_cache_free_gpu_memory_fraction", d.memory.Utilization)
	f.add("--extra_llm_api_options", d.configFile())
	var b strings.Builder
	fmt.Fprintf(&b, "enable_attention_dp: %t\n", p.Data > 1)
	fmt.Fprintf(&b, "enable_chunked_prefill: %t\n", d.batching.Policy != "trtllm" ||
		d.batching.Params["chunked-context"] == "true")
	fmt.Fprintf(&b, "kv_cache_config:\n  enable_block_reuse: %t\n", caches(d.memory.Policy))
	if d.engine.KVCache == "fp8" {
		b.WriteString("  dtype: fp8\n")
	}
	if n := d.batching.Params["max-sequences"]; n != "" {
		fmt.Fprintf(&b, "cuda_graph_config:\n  enable_padding: true\n  max_batch_size: %s\n", n)
	}
	if d.role != "mixed" {
		b.WriteString("cache_transceiver_config:\n  backend: DEFAULT\n")
	}
	return f, b.String()
}

func trtllmOptions() []option {
	list := []option{
		key("model", "--model"),
		read("parallelism.tensor", count, "--tp_size", "--tensor_parallel_size"),
		read("parallelism.pipeline", count, "--pp_size", "--pipeline_parallel_size"),
		read("parallelism.expert", count, "--ep_size", "--moe_expert_parallel_size"),
		read("batching.max-sequences", count, "--max_batch_size"),
		read("batching.token-budget", count, "--max_num_tokens"),
		read("engine.max-model-len", count, "--max_seq_len"),
		{
			flags: []string{"--kv_cache_free_gpu_memory_fraction", "--free_gpu_memory_fraction"},
			key:   "memory.utilization",
			note: "the share of what weights and buffers leave free is read as a share of " +
				"all memory",
		},
		read("engine.kv-cache", format, "--kv_cache_dtype"),
		{flags: []string{"--enable_chunked_prefill"}, key: "batching.chunked-context",
			isSwitch: true, on: "true"},
		noted("the file is not read: its enable_attention_dp is parallelism.data, its "+
			"kv_cache_config.dtype engine.kv-cache; set these", "--extra_llm_api_options",
			"--config"),
		noted("splits each expert, which a scenario does by parallelism.tensor", "--moe_tp_size",
			"--cluster_size"),
	}
	list = append(list, ignored("--host", "--port", "--backend", "--tokenizer",
		"--served_model_name", "--num_postprocess_workers", "--max_beam_width",
		"--log_level", "--reasoning_parser", "--tool_parser", "--gpus_per_node",
		"--metadata_server_config_file", "--server_role")...)
	return append(list, ignoredSwitches("--trust_remote_code")...)
}

// settleTRTLLM names the preset and its policies.
func settleTRTLLM(r *reading) {
	r.set("engine.preset", "trtllm")
	r.set("batching.policy", "trtllm")
	if _, set := r.values["memory.policy"]; !set {
		r.set("memory.policy", "prefix-cache")
	}
	if expert := r.number("parallelism.expert", 1); expert > 1 &&
		r.number("parallelism.tensor", 1)%expert != 0 {
		r.note("--ep_size %s does not divide --tp_size", strconv.Itoa(expert))
	}
}
