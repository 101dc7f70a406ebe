package launch

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// trtllm describes TensorRT-LLM:
// https://nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve/.
func trtllm() engine {
	return engine{
		name: "trtllm", version: "1.0.0", image: "nvcr.io/nvidia/tensorrt-llm/release:1.0.0",
		port: 8000, preset: "trtllm",
		write: writeTRTLLM, options: trtllmOptions, settle: settleTRTLLM, worker: dynamoTRTLLM(),
		program: func(words []string) int {
			switch {
			case len(words) > 2 && isPython(words[0]) && words[1] == "-m" &&
				words[2] == "dynamo.trtllm":
				return 3
			case len(words) > 1 && base(words[0]) == "trtllm-serve" && words[1] == "serve":
				return 2
			case len(words) > 1 && base(words[0]) == "trtllm-serve" && slices.Contains(
				[]string{"disaggregated", "disaggregated_mpi_worker"}, words[1]):
				return 0 // which start what stands before engines, or engines of other commands
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
	f.degree("--pp_size", p.Pipeline)
	f.degree("--ep_size", p.Expert)
	// With attention data parallelism each rank has such limits
	// (tensorrt_llm/_torch/pyexecutor/py_executor.py, total_max_num_active_requests).
	f.param("--max_batch_size", d.perRank("max-sequences"))
	f.param("--max_num_tokens", d.perRank("token-budget"))
	f.add("--max_seq_len", d.engine.MaxModelLen)
	f.add("--kv_cache_free_gpu_memory_fraction", freeShare(&d.server.Plan))
	f.add("--extra_llm_api_options", d.configFile())
	text, err := yaml.Marshal(trtllmConfigOf(d))
	if err != nil {
		panic(err) // a struct of numbers and words
	}
	return f, string(text)
}

func trtllmOptions() []option {
	list := []option{
		key("model", "--model", "--model-path"),
		read("parallelism.tensor", count, "--tp_size", "--tensor_parallel_size"),
		read("parallelism.pipeline", count, "--pp_size", "--pipeline_parallel_size"),
		read("parallelism.expert", count, "--ep_size", "--moe_expert_parallel_size",
			"--expert-parallel-size"),
		{flags: []string{"--enable_attention_dp"}, key: "attention", isSwitch: true, on: "data"},
		read("batching.max-sequences", count, "--max_batch_size"),
		read("batching.token-budget", count, "--max_num_tokens"),
		read("engine.max-model-len", count, "--max_seq_len"),
		key("memory.kv-share", "--kv_cache_free_gpu_memory_fraction",
			"--free_gpu_memory_fraction"),
		read("engine.kv-cache", format, "--kv_cache_dtype"),
		{flags: []string{"--enable_chunked_prefill"}, key: "batching.chunked-context",
			isSwitch: true, on: "true"},
		key("config", "--extra_llm_api_options", "--config", "--extra-engine-args"),
		read("block-size", count, "--kv-block-size"), // of Dynamo's worker alone
		read("pool", mode, "--disaggregation-mode"),
		read("pool", func(text string) (string, error) {
			switch strings.ToLower(text) {
			case "context":
				return "prefill", nil
			case "generation":
				return "decode", nil
			}
			return "", leftOut("known are CONTEXT and GENERATION")
		}, "--server_role"),
		noted("experts are split by parallelism.expert and tensor alone", "--cluster_size",
			"--moe_cluster_parallel_size"),
	}
	list = append(list, ignored("--host", "--port", "--backend", "--tokenizer",
		"--served_model_name", "--num_postprocess_workers", "--max_beam_width",
		"--log_level", "--reasoning_parser", "--tool_parser", "--gpus_per_node",
		"--metadata_server_config_file")...)
	return append(list, ignoredSwitches("--trust_remote_code", "--publish-events-and-metrics",
		"--publish-kv-events")...)
}

// settleTRTLLM names the preset and its policies, and turns what the flags mean together into keys.
// Blocks of the cache are reused by default (tensorrt_llm/llmapi/llm_args.py, v1.0).
func settleTRTLLM(r *reading) {
	r.set("engine.preset", "trtllm")
	r.set("batching.policy", "trtllm")
	if !r.keepsParts() {
		r.set("memory.policy", "prefix-cache")
	}
	if name, given := r.values["config"]; given {
		delete(r.values, "config")
		r.trtllmConfig(name)
	}
	if size, given := r.values["block-size"]; given {
		r.set("memory.block-size", size)
		delete(r.values, "block-size")
	}
	_, attention := r.values["attention"]
	delete(r.values, "attention")
	tensor, expert := r.number("parallelism.tensor", 1), r.number("parallelism.expert", 1)
	switch {
	case attention && tensor > 1:
		r.set("parallelism.tensor", "1")
		r.set("parallelism.data", strconv.Itoa(tensor))
		r.ofAllRanks(tensor, "batching.max-sequences", "batching.token-budget", "memory.tokens")
		if delete(r.values, "parallelism.expert"); expert == 1 {
			r.set("parallelism.expert", "1") // each accelerator has a slice of all experts
		}
	case tensor%expert != 0:
		r.note("--ep_size %d does not divide --tp_size", expert)
	}
}
