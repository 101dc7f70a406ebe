package launch

import (
	"fmt"
	"strconv"
)

// vllm describes vLLM: https://docs.vllm.ai/en/v0.15.1/cli/serve.
func vllm() engine {
	return engine{
		name: "vllm", version: "0.15.1", image: "vllm/vllm-openai:v0.15.1", port: 8000,
		preset: "vllm", waiting: "vllm:num_requests_waiting",
		write: writeVLLM, options: vllmOptions, settle: settleVLLM,
		program: func(words []string) int {
			switch {
			case len(words) > 1 && base(words[0]) == "vllm" && words[1] == "serve":
				return 2
			case len(words) > 2 && isPython(words[0]) && words[1] == "-m" &&
				words[2] == "vllm.entrypoints.openai.api_server":
				return 3
			}
			return 0
		},
	}
}

func writeVLLM(d *deployed) ([]string, string) {
	f := flags{"vllm", "serve", d.model}
	p := d.parallelism
	f.add("--tensor-parallel-size", max(1, p.Tensor))
	if p.Pipeline > 1 {
		f.add("--pipeline-parallel-size", p.Pipeline)
	}
	if p.Data > 1 {
		f.add("--data-parallel-size", p.Data)
	}
	if p.Expert > 1 {
		f = append(f, "--enable-expert-parallel")
	}
	if p.Redundant > 0 {
		f = append(f, "--enable-eplb", "--eplb-config",
			fmt.Sprintf(`{"num_redundant_experts":%d}`, p.Redundant))
	}
	f.add("--max-model-len", d.engine.MaxModelLen)
	f.add("--gpu-memory-utilization", d.memory.Utilization)
	// Each data-parallel rank is an engine core with a scheduler of its own
	// (https://docs.vllm.ai/en/v0.15.1/serving/data_parallel_deployment).
	f.param("--max-num-seqs", d.perRank("max-sequences"))
	f.param("--max-num-batched-tokens", d.perRank("token-budget"))
	f.param("--long-prefill-token-threshold", d.batching.Params["chunk-limit"])
	if d.batching.Policy == "priority" {
		f.add("--scheduling-policy", "priority")
	}
	f.param("--block-size", d.memory.Params["block-size"])
	if caches(d.memory.Policy) {
		f = append(f, "--enable-prefix-caching")
	} else {
		f = append(f, "--no-enable-prefix-caching")
	}
	if d.engine.Weights == "fp8" {
		f.add("--quantization", "fp8")
	}
	if d.engine.KVCache == "fp8" {
		f.add("--kv-cache-dtype", "fp8")
	}
	if d.role != "mixed" {
		f.add("--kv-transfer-config", `{"kv_connector":"NixlConnector","kv_role":"kv_both"}`)
	}
	if d.role == "decode" {
		f.add("--port", vllmBehindSidecar)
	}
	return f, ""
}

func vllmOptions() []option {
	list := []option{
		key("model", "--model"),
		read("parallelism.tensor", count, "--tensor-parallel-size", "-tp"),
		read("parallelism.pipeline", count, "--pipeline-parallel-size", "-pp"),
		read("parallelism.data", count, "--data-parallel-size", "-dp"),
		{flags: []string{"--enable-expert-parallel", "-ep"}, key: "parallelism.expert",
			isSwitch: true, on: "all"},
		read("engine.max-model-len", tokens, "--max-model-len"),
		key("memory.utilization", "--gpu-memory-utilization"),
		read("batching.max-sequences", count, "--max-num-seqs"),
		read("batching.token-budget", tokens, "--max-num-batched-tokens"),
		read("batching.chunk-limit", tokens, "--long-prefill-token-threshold"),
		read("memory.block-size", count, "--block-size"),
		{flags: []string{"--enable-prefix-caching"}, key: "memory.policy", isSwitch: true,
			on: "prefix-cache", off: "paged"},
		read("engine.kv-cache", format, "--kv-cache-dtype"),
		read("engine.weights", format, "--quantization", "-q"),
		read("engine.weights", format, "--dtype"),
		{flags: []string{"--enforce-eager"}, key: "engine.graph", isSwitch: true, on: "1"},
		read("engine.graph", count, "--max-cudagraph-capture-size"),
		read("batching.policy", func(text string) (string, error) {
			switch text {
			case "fcfs":
				return "", nil
			case "priority":
				return "priority", nil
			}
			return "", fmt.Errorf("found %q; want fcfs or priority", text)
		}, "--scheduling-policy"),
		{flags: []string{"--enable-chunked-prefill"}, isSwitch: true},
		noted("speculative decoding needs an acceptance rate, which is a property of your texts: "+
			"set speculation, such as speculation={method: eagle, acceptance: 0.7}",
			"--speculative-config"),
		noted("a scenario has pools for prefill and decode (fleet.pools), which one command does "+
			"not tell", "--kv-transfer-config"),
		noted("weights in host memory are not simulated", "--cpu-offload-gb"),
		noted("vLLM's version 1 scheduler does not swap", "--swap-space"),
		noted("the number of KV blocks follows from memory; set memory.tokens to fix it",
			"--num-gpu-blocks-override"),
		noted("the link and the exchange of experts follow from the hardware", "--all2all-backend"),
		noted("adapters are not simulated", "--lora-modules", "--max-loras", "--max-lora-rank"),
		notedSwitch("adapters are not simulated", "--enable-lora"),
		noted("copies of experts are parallelism.redundant-experts", "--eplb-config"),
		notedSwitch("balancing experts over accelerators is parallelism.redundant-experts",
			"--enable-eplb"),
		notedSwitch("whether the host schedules ahead follows from engine.preset",
			"--async-scheduling"),
		noted("kernels follow from engine.preset", "--attention-backend", "--compilation-config",
			"-O", "--moe-backend"),
		notedSwitch("which kernels reduce over accelerators follows from the hardware",
			"--disable-custom-all-reduce"),
	}
	list = append(list, ignored("--host", "--port", "--api-key", "--served-model-name",
		"--tokenizer", "--tokenizer-mode", "--chat-template",
		"--tool-call-parser", "--reasoning-parser", "--seed", "--revision", "--download-dir",
		"--load-format", "--config-format", "--uvicorn-log-level",
		"--distributed-executor-backend", "--limit-mm-per-prompt", "--generation-config",
		"--data-parallel-address", "--data-parallel-rpc-port",
		"--data-parallel-backend", "--data-parallel-start-rank", "--data-parallel-size-local",
		"--nnodes", "--node-rank", "--master-addr", "--master-port")...)
	return append(list, ignoredSwitches("--trust-remote-code", "--enable-auto-tool-choice",
		"--disable-log-requests", "--disable-log-stats",
		"--enable-log-requests", "--headless", "--data-parallel-hybrid-lb",
		"--data-parallel-external-lb", "--disable-uvicorn-access-log", "--language-model-only")...)
}

// settleVLLM turns what vLLM's flags mean together into keys. Prefix caching is on by default
// (vllm/config/cache.py).
func settleVLLM(r *reading) {
	if _, set := r.values["memory.policy"]; !set {
		r.set("memory.policy", "prefix-cache")
	}
	tensor, data := r.number("parallelism.tensor", 1), r.number("parallelism.data", 1)
	_, expert := r.values["parallelism.expert"]
	switch {
	case expert && data > 1:
		// with data, the experts are spread over all accelerators
		delete(r.values, "parallelism.expert")
		for _, key := range []string{"batching.max-sequences", "batching.token-budget"} {
			if n := r.number(key, 0); n > 0 {
				r.set(key, strconv.Itoa(n*data)) // of all ranks
			}
		}
	case expert && tensor > 1:
		r.set("parallelism.expert", strconv.Itoa(tensor))
	case expert:
		delete(r.values, "parallelism.expert")
	case data > 1:
		delete(r.values, "parallelism.data")
		r.set("replicas", strconv.Itoa(data))
		r.note("--data-parallel-size without --enable-expert-parallel is read as %d replicas", data)
	}
}
