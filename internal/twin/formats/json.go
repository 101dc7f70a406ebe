package formats

import (
	"maps"
	"slices"
)

// jsonFormat is a format of JSON files: the file's objects are its lines, or the items of its list.
type jsonFormat struct {
	name string
	// fits reports whether the first object is one of the format.
	fits func(first object) bool
	// refuse says why the format is not read; empty if it is.
	refuse string
	read   func(in *input, all []object) error
}

// jsonFormats lists them; the first that fits is taken.
func jsonFormats() []jsonFormat {
	return []jsonFormat{
		{"vllm-bench", fitsBench, "", readBench},
		{"sglang-bench", func(o object) bool { return o.has("mean_e2e_latency_ms", "backend") }, "",
			readSGLang},
		{"llmsim-load", func(o object) bool { return o.has("mean_send_delay_ms", "completed") }, "",
			readLoad},
		{"guidellm", func(o object) bool { return o.has("benchmarks") }, "", readGuideLLM},
		{"inference-perf-requests", func(o object) bool {
			return o.has("start_time", "end_time", "info")
		}, "", readPerfRequests},
		{"inference-perf-prometheus", func(o object) bool {
			return o.has("load_summary") && o.at("successes").has("queue_len")
		}, "", readPerfPrometheus},
		{"inference-perf", func(o object) bool { return o.has("load_summary", "successes") }, "",
			readPerf},
		{"vllm-responses", func(o object) bool {
			return o.has("usage") && o.at("metrics").has("time_to_first_token_ms")
		}, "", readResponses},
		{"aiperf", func(o object) bool { return o.has("metadata", "metrics") }, "", readAIPerf},
		{"aiperf-summary", func(o object) bool {
			return o.has("request_throughput") && o.at("request_latency").has("unit")
		}, "", readAIPerfSummary},
		{"fpm", func(o object) bool {
			return o.at("event").has("fpm") || o.has("scheduled_requests")
		}, "", readFPM},
		{"otlp", func(o object) bool { return o.has("resourceSpans") }, "", readOTLP},
		{"trtllm-report", func(o object) bool {
			return o.has("world_info", "request_info", "performance")
		}, "", readTRTLLMReport},
		{"vllm-throughput", func(o object) bool {
			return o.has("elapsed_time", "num_requests", "tokens_per_second")
		}, "", readThroughput},
		{"llmperf", func(o object) bool {
			return o.has("results_ttft_s_mean") || o.has("results_ttft_s_quantiles_p50")
		}, "", readLLMPerf},
		{"litellm", func(o object) bool {
			return o.has("startTime", "endTime", "prompt_tokens")
		}, "", readLiteLLM},
		{"openai-usage", func(o object) bool {
			return o.has("created") && o.at("usage").has("prompt_tokens")
		}, "", readUsage},
		{"conversations", func(o object) bool {
			turns := o.list("conversations")
			return len(turns) > 0 && turns[0].has("value") || o.has("prompt", "output_tokens")
		}, "", readConversations},
		{"aiperf-input", func(o object) bool { return o.has("input_length", "output_length") },
			"a trace to send, in which nothing is measured: name the file as workload.trace of a " +
				"scenario", nil},
		{"prometheus-api", func(o object) bool { return o.has("status", "data") }, "",
			readPrometheus},
		{"otel-session", func(o object) bool { return o.has("spans") || o.has("trace_id") },
			"a recorded session of messages, without times of tokens and without token counts: " +
				"nothing in it says how fast the server was", nil},
		{"trtllm-iterations", func(o object) bool { return o.has("iterLatencyMS") },
			"", readTRTLLM},
	}
}

// readJSON is the reader of all JSON formats, which reads the file once.
func readJSON(in *input) error {
	all := contents(in.data)
	if len(all) == 0 {
		return in.errorf("found no JSON objects")
	}
	for _, f := range jsonFormats() {
		if in.options.Format == f.name || in.options.Format == "" && f.fits(all[0]) {
			in.source.Format = f.name
			if f.refuse != "" {
				return in.errorf("%s", f.refuse)
			}
			return f.read(in, all)
		}
	}
	return in.errorf("found JSON of no known format: its first object has the keys %.200q; known "+
		"are results of vllm bench, sglang.bench_serving, GuideLLM, AIPerf, inference-perf, "+
		"trtllm-bench and LLMPerf, and records of LiteLLM and OpenAI",
		slices.Sorted(maps.Keys(all[0])))
}

// jsonReaders returns a reader for each JSON format, and one that finds the format by itself.
func jsonReaders() []reader {
	list := []reader{{"json", func(data []byte) bool { return len(contents(data)) > 0 }, readJSON}}
	for _, f := range jsonFormats() {
		list = append(list, reader{f.name, func([]byte) bool { return false }, readJSON})
	}
	return list
}
