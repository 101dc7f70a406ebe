package launch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// vllm describes vLLM: https://docs.vllm.ai/en/v0.15.1/cli/serve.
func vllm() engine {
	return engine{
		name: "vllm", version: "0.15.1", image: "vllm/vllm-openai:v0.15.1", port: 8000,
		preset: "vllm", waiting: "vllm:num_requests_waiting",
		running: "vllm:num_requests_running",
		write:   writeVLLM, options: vllmOptions, settle: settleVLLM, worker: dynamoVLLM(),
		program: func(words []string) int {
			switch {
			case len(words) > 1 && base(words[0]) == "vllm" && words[1] == "serve":
				return 2
			case len(words) > 2 && isPython(words[0]) && words[1] == "-m" &&
				slices.Contains([]string{"vllm.entrypoints.openai.api_server", "dynamo.vllm"},
					words[2]):
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
	f.degree("--pipeline-parallel-size", p.Pipeline)
	f.degree("--data-parallel-size", p.Data)
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
	if block, err := strconv.Atoi(d.memory.Params["block-size"]); err == nil && block > 0 {
		f.param("--num-gpu-blocks-override", d.tokens()/block)
	}
	switch policy := d.memory.Policy; {
	case policy == "hybrid": // as vLLM does it by itself
	case caches(policy):
		f = append(f, "--enable-prefix-caching")
	default:
		f = append(f, "--no-enable-prefix-caching")
	}
	f.formats(d, "fp8")
	f.graphs(d, "--enforce-eager", "--max-cudagraph-capture-size")
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
		read("rank-blocks", count, "--num-gpu-blocks-override"),
		{flags: []string{"--enable-prefix-caching"}, key: "memory.policy", isSwitch: true,
			on: "prefix-cache", off: "paged"},
		read("engine.weights", format, "--quantization", "-q"),
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
		read("parallelism.redundant-experts", redundantExperts, "--eplb-config"),
		{flags: []string{"--enable-chunked-prefill"}, isSwitch: true},
		noted(noAcceptance, "--speculative-config"),
		read("pool", transferRole, "--kv-transfer-config"),
		read("pool", kvRole, "--kv-transfer-config.kv_role"),
		{flags: []string{"--is-prefill-worker"}, key: "pool", isSwitch: true, on: "prefill"},
		{flags: []string{"--is-decode-worker"}, key: "pool", isSwitch: true, on: "decode"},
		read("pool", mode, "--disaggregation-mode"),
		noted("vLLM's version 1 scheduler does not swap", "--swap-space"),
		notedSwitch(noSchedule, "--async-scheduling"),
		noted(noKernels, "-O"),
	}
	list = append(list, ignored("--tokenizer", "--seed", "--kv-transfer-config.kv_connector",
		"--config-format", "--uvicorn-log-level",
		"--distributed-executor-backend", "--limit-mm-per-prompt", "--generation-config",
		"--data-parallel-address", "--data-parallel-rpc-port",
		"--data-parallel-backend", "--data-parallel-start-rank", "--data-parallel-size-local",
		"--master-addr", "--master-port")...)
	list = append(list, ignoredSwitches("--enable-auto-tool-choice",
		"--disable-log-requests", "--disable-log-stats",
		"--enable-log-requests", "--headless", "--data-parallel-hybrid-lb",
		"--data-parallel-external-lb", "--disable-uvicorn-access-log", "--language-model-only")...)
	return append(list, shared()...)
}

// transferRole reads what a replica does with the KV caches of others: it makes them in a prefill
// pool, and takes them over in a decode pool.
func transferRole(text string) (string, error) {
	var config struct {
		Role string `json:"kv_role"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", leftOut("it is not JSON: " + err.Error())
	}
	return kvRole(config.Role)
}

// kvRole reads the role alone. Any other than of one pool is that of some pool.
func kvRole(name string) (string, error) {
	switch name {
	case "kv_producer":
		return "prefill", nil
	case "kv_consumer":
		return "decode", nil
	}
	return "mixed", nil
}

// redundantExperts reads the copies of experts in the settings of vLLM's load balancer.
func redundantExperts(text string) (string, error) {
	var config struct {
		Redundant int `json:"num_redundant_experts"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("found %q; want JSON: %w", text, err)
	}
	if config.Redundant < 1 {
		return "", nil
	}
	return strconv.Itoa(config.Redundant), nil
}

// settleVLLM turns what vLLM's flags mean together into keys.
func settleVLLM(r *reading) {
	tensor, data := r.number("parallelism.tensor", 1), r.number("parallelism.data", 1)
	_, expert := r.values["parallelism.expert"]
	if blocks := r.number("rank-blocks", 0); blocks > 0 {
		r.set("memory.tokens", strconv.Itoa(blocks*r.number("memory.block-size", 16)))
	}
	delete(r.values, "rank-blocks")
	switch {
	case expert && data > 1:
		// with data, the experts are spread over all accelerators
		delete(r.values, "parallelism.expert")
		r.ofAllRanks(data, "batching.max-sequences", "batching.token-budget", "memory.tokens")
	case expert && tensor > 1:
		r.set("parallelism.expert", strconv.Itoa(tensor))
	case expert:
		delete(r.values, "parallelism.expert")
	case data > 1 && r.experts(): // each accelerator has a slice of all experts
		r.set("parallelism.expert", "1")
		r.ofAllRanks(data, "batching.max-sequences", "batching.token-budget", "memory.tokens")
	case data > 1:
		delete(r.values, "parallelism.data")
		r.set("replicas", strconv.Itoa(data))
		r.note("--data-parallel-size without experts is read as %d replicas", data)
	}
}
