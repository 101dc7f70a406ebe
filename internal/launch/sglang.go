package launch

import (
	"cmp"
	"strconv"
)

// sglang describes SGLang: https://docs.sglang.io/advanced_features/server_arguments.html.
func sglang() engine {
	return engine{
		name: "sglang", version: "0.5.7", image: "lmsysorg/sglang:v0.5.7", port: 30000,
		preset: "sglang", waiting: "sglang:num_queue_reqs",
		running: "sglang:num_running_reqs",
		write:   writeSGLang, options: sglangOptions, settle: settleSGLang,
		worker: dynamoSGLang(),
		program: func(words []string) int {
			switch {
			case len(words) > 2 && isPython(words[0]) && words[1] == "-m" &&
				(words[2] == "sglang.launch_server" || words[2] == "dynamo.sglang"):
				return 3
			case len(words) > 1 && base(words[0]) == "sglang" && words[1] == "serve":
				return 2
			}
			return 0
		},
	}
}

func writeSGLang(d *deployed) ([]string, string) {
	f := flags{"python3", "-m", "sglang.launch_server", "--model-path", d.model}
	p := d.parallelism
	// SGLang's tensor parallelism counts the accelerators of all data-parallel ranks of attention.
	f.add("--tp-size", max(1, p.Tensor)*max(1, p.Data))
	f.degree("--pp-size", p.Pipeline)
	if p.Data > 1 {
		f.add("--dp-size", p.Data)
		f = append(f, "--enable-dp-attention")
	}
	f.degree("--ep-size", p.Expert)
	f.param("--ep-num-redundant-experts", p.Redundant)
	if p.Overlap == "two-batch" {
		f = append(f, "--enable-two-batch-overlap")
	}
	f.add("--context-length", d.engine.MaxModelLen)
	f.add("--mem-fraction-static", staticShare(&d.server.Plan))
	f.param("--max-total-tokens", d.tokens())
	f.param("--max-running-requests", d.batching.Params["max-sequences"])
	f.param("--chunked-prefill-size", cmp.Or(d.batching.Params["chunk"],
		d.batching.Params["token-budget"]))
	if interval := d.batching.Params["receive-interval"]; interval != "1" {
		f.param("--scheduler-recv-interval", interval)
	}
	if size := d.memory.Params["block-size"]; size != "1" {
		f.param("--page-size", size)
	}
	if !caches(d.memory.Policy) {
		f = append(f, "--disable-radix-cache")
	}
	f.formats(d, "fp8_e4m3")
	f.graphs(d, "--disable-cuda-graph", "--cuda-graph-max-bs")
	if d.role != "mixed" {
		f.add("--disaggregation-mode", d.role)
	}
	if d.scaling.Policy != "" {
		f = append(f, "--enable-metrics") // which the autoscaler reads
	}
	return append(f, "--host", "0.0.0.0"), ""
}

func sglangOptions() []option {
	list := []option{
		key("model", "--model-path", "--model"),
		read("parallelism.tensor", count, "--tp-size", "--tp", "--tensor-parallel-size"),
		read("parallelism.pipeline", count, "--pp-size", "--pp", "--pipeline-parallel-size"),
		read("parallelism.data", count, "--dp-size", "--dp", "--data-parallel-size"),
		{flags: []string{"--enable-dp-attention"}, key: "attention", isSwitch: true, on: "data"},
		read("parallelism.expert", count, "--ep-size", "--ep", "--expert-parallel-size"),
		read("engine.max-model-len", count, "--context-length"),
		key("memory.static-share", "--mem-fraction-static"),
		read("memory.tokens", count, "--max-total-tokens"),
		read("batching.max-sequences", count, "--max-running-requests"),
		read("batching.chunk", chunk, "--chunked-prefill-size"),
		read("batching.receive-interval", count, "--scheduler-recv-interval"),
		read("memory.block-size", count, "--page-size"),
		{flags: []string{"--disable-radix-cache"}, key: "memory.policy", isSwitch: true,
			on: "paged"},
		read("engine.weights", format, "--quantization"),
		read("engine.graph", count, "--cuda-graph-max-bs"),
		{flags: []string{"--disable-cuda-graph"}, key: "engine.graph", isSwitch: true, on: "1"},
		read("pool", mode, "--disaggregation-mode"),
		noted("the order of waiting requests is that of batching.policy", "--schedule-policy"),
		noted("the share of new tokens is batching.new-token-ratio", "--schedule-conservativeness"),
		noted("the limit of prompt tokens in a step is batching.chunk", "--max-prefill-tokens"),
		noted(noAcceptance, "--speculative-algorithm", "--speculative-num-steps",
			"--speculative-eagle-topk", "--speculative-num-draft-tokens",
			"--speculative-draft-model-path"),
		key("exchange", "--moe-a2a-backend"),
		read("parallelism.redundant-experts", count, "--ep-num-redundant-experts"),
		{flags: []string{"--enable-two-batch-overlap"}, key: "parallelism.overlap", isSwitch: true,
			on: "two-batch"},
		notedSwitch(noSchedule, "--disable-overlap-schedule"),
	}
	list = append(list, ignored("--tokenizer-path", "--random-seed", "--log-level",
		"--dist-init-addr", "--watchdog-timeout",
		"--disaggregation-transfer-backend", "--disaggregation-bootstrap-port")...)
	list = append(list, ignoredSwitches("--enable-metrics", "--log-requests",
		"--skip-server-warmup", "--enable-p2p-check")...)
	return append(list, shared()...)
}

// settleSGLang turns what SGLang's flags mean together into keys.
func settleSGLang(r *reading) {
	r.set("engine.preset", "sglang")
	r.set("batching.policy", "sglang")
	_, attention := r.values["attention"]
	_, exchange := r.values["exchange"]
	delete(r.values, "attention")
	delete(r.values, "exchange")
	tensor, data := r.number("parallelism.tensor", 1), r.number("parallelism.data", 1)
	switch {
	case data == 1:
	case attention && tensor%data == 0:
		spread := exchange || r.number("parallelism.expert", 1) > 1
		r.set("parallelism.tensor", strconv.Itoa(tensor/data))
		r.ofAllRanks(data, "memory.tokens")
		delete(r.values, "parallelism.expert")
		if !spread { // each accelerator has a slice of all experts
			r.set("parallelism.expert", "1")
		}
	case attention:
		r.note("--dp-size %d does not divide --tp-size %d, so that --enable-dp-attention was "+
			"left out", data, tensor)
		delete(r.values, "parallelism.data")
	default:
		delete(r.values, "parallelism.data")
		r.set("replicas", strconv.Itoa(data))
		r.note("--dp-size without --enable-dp-attention is read as %d replicas", data)
	}
}
