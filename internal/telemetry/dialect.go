package telemetry

import (
	"strconv"
	"strings"
)

// Dialect is the names and buckets of an engine.
type Dialect struct {
	name                  string
	families              func() []family
	ttft, itl, e2e, queue []float64
}

// Dialects returns the names of all dialects.
func Dialects() []string { return []string{"vllm", "sglang"} }

// DialectOf returns the dialect of a name; the first where no model is named.
func DialectOf(name string) Dialect {
	if name == "sglang" {
		return sglang()
	}
	return vllm()
}

// vllm returns the families of vLLM's V1 engine; buckets are taken from vllm/v1/metrics/loggers.py.
func vllm() Dialect {
	latency := bounds("0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 " +
		"1920 7680")
	return Dialect{
		name: "vllm", families: vllmFamilies,
		ttft: bounds("0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 " +
			"7.5 10 20 40 80 160 640 2560"),
		itl: bounds("0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 5 " +
			"7.5 10 20 40 80"),
		e2e: latency, queue: latency,
	}
}

// sglang returns the families of SGLang; buckets are taken from
// srt/observability/metrics_collector.py.
func sglang() Dialect {
	return Dialect{
		name: "sglang", families: sglangFamilies,
		ttft: bounds("0.1 0.2 0.4 0.6 0.8 1 2 4 6 8 10 20 40 60 80 100 200 400"),
		itl: bounds("0.002 0.004 0.006 0.008 0.01 0.015 0.02 0.025 0.03 0.035 0.04 " +
			"0.06 0.08 0.1 0.2 0.4 0.6 0.8 1 2 4 6 8"),
		e2e: bounds("0.1 0.2 0.4 0.6 0.8 1 2 4 6 8 10 20 40 60 80 100 200 400 600 " +
			"1200 1800 2400"),
		queue: bounds("0 0.001 0.005 0.01 0.05 0.1 0.2 0.5 1 2 3 4 5 10 15 20 30 40 " +
			"50 60 70 80 90 100 200 300 400 500 600 700 800 900 1000 1200 " +
			"1400 1600 1800 2000 2500 3000"),
	}
}

// bounds reads the upper bounds of buckets, in order.
func bounds(text string) []float64 {
	var list []float64
	for _, word := range strings.Fields(text) {
		bound, err := strconv.ParseFloat(word, 64)
		if err != nil {
			panic(err) // the text is part of the program
		}
		list = append(list, bound)
	}
	return list
}

// family is a metric: its values are a gauge, a counter, or a histogram.
type family struct {
	name, help string
	gauge      func(*engine) float64
	counter    func(*engine) float64
	histogram  func(*engine) *histogram
	// labels are those beside the engine's, as pairs.
	labels []string
	// unless leaves out engines that have no such metric.
	unless func(*engine) bool
}

func vllmFamilies() []family {
	list := []family{
		{name: "vllm:num_requests_running", help: "Number of requests in model execution batches.",
			gauge: func(e *engine) float64 { return float64(e.running) }},
		{name: "vllm:num_requests_waiting", help: "Number of requests waiting to be processed.",
			gauge: func(e *engine) float64 { return float64(e.waiting) }},
		{name: "vllm:kv_cache_usage_perc", help: "KV-cache usage. 1 means 100 percent usage.",
			gauge: (*engine).usage},
		counterOf("vllm:prefix_cache_queries_total", "Prefix cache queries, in tokens.",
			func(e *engine) int64 { return e.queried }),
		counterOf("vllm:prefix_cache_hits_total", "Prefix cache hits, in tokens.",
			func(e *engine) int64 { return e.cached }),
		counterOf("vllm:external_prefix_cache_queries_total",
			"Queries of prefix caches elsewhere, in tokens.", none),
		counterOf("vllm:external_prefix_cache_hits_total",
			"Hits in prefix caches elsewhere, in tokens.", none),
		counterOf("vllm:mm_cache_queries_total", "Queries of the cache of images and sounds.",
			none),
		counterOf("vllm:mm_cache_hits_total", "Hits in the cache of images and sounds.", none),
		counterOf("vllm:num_preemptions_total", "Number of preemptions.",
			func(e *engine) int64 { return e.preemptions }),
		counterOf("vllm:prompt_tokens_total", "Number of prefill tokens processed.",
			func(e *engine) int64 { return e.prompt }),
		counterOf("vllm:prompt_tokens_cached_total", "Number of prompt tokens from the cache.",
			func(e *engine) int64 { return e.cached }),
		counterOf("vllm:prompt_tokens_recomputed_total", "Number of prompt tokens computed again.",
			func(e *engine) int64 { return e.recomputed }),
		counterOf("vllm:generation_tokens_total", "Number of generation tokens processed.",
			func(e *engine) int64 { return e.generated }),
		counterOf("vllm:corrupted_requests_total", "Number of requests with broken logits.", none),
	}
	for _, source := range []struct {
		name  string
		value func(*engine) int64
	}{
		{"local_compute", func(e *engine) int64 { return e.prompt - e.cached }},
		{"local_cache_hit", func(e *engine) int64 { return e.cached }},
		{"external_kv_transfer", none},
	} {
		f := counterOf("vllm:prompt_tokens_by_source_total", "Number of prompt tokens by source.",
			source.value)
		f.labels = []string{"source", source.name}
		list = append(list, f)
	}
	for how := range endings {
		f := counterOf("vllm:request_success_total", "Count of processed requests.",
			func(e *engine) int64 { return e.ended[how] })
		f.labels = []string{"finished_reason", how.String()}
		list = append(list, f)
	}
	return append(append(append(list, vllmStates()...), vllmDrafts()...), vllmHistograms()...)
}

// vllmStates are the families that divide a state by a label.
func vllmStates() []family {
	gauge := func(name, help, label, value string, of func(*engine) float64) family {
		return family{name: name, help: help, labels: []string{label, value}, gauge: of}
	}
	always := func(v float64) func(*engine) float64 { return func(*engine) float64 { return v } }
	const waiting, sleep = "vllm:num_requests_waiting_by_reason", "vllm:engine_sleep_state"
	const why = "Number of waiting requests by reason: capacity (no room in the batch or the " +
		"KV cache) or deferred (a transfer or a grammar is not ready)."
	const state = "Engine sleep state: awake, weights_offloaded (level 1) or discard_all (level 2)."
	return []family{
		gauge(waiting, why, "reason", "capacity",
			func(e *engine) float64 { return float64(e.waiting) }),
		gauge(waiting, why, "reason", "deferred", always(0)),
		gauge(sleep, state, "sleep_state", "awake", always(1)),
		gauge(sleep, state, "sleep_state", "weights_offloaded", always(0)),
		gauge(sleep, state, "sleep_state", "discard_all", always(0)),
	}
}

// vllmDrafts are the families of speculative decoding.
func vllmDrafts() []family {
	list := []family{
		counterOf("vllm:spec_decode_num_drafts_total", "Number of drafts.",
			func(e *engine) int64 { return e.drafts }),
		counterOf("vllm:spec_decode_num_draft_tokens_total", "Number of draft tokens.",
			func(e *engine) int64 { return e.drafted }),
		counterOf("vllm:spec_decode_num_accepted_tokens_total", "Number of accepted tokens.",
			func(e *engine) int64 { return e.accepted }),
	}
	for i := range list {
		list[i].unless = func(e *engine) bool { return !e.Drafts }
	}
	return list
}

func vllmHistograms() []family {
	return []family{
		{name: "vllm:time_to_first_token_seconds",
			help:      "Histogram of time to first token in seconds.",
			histogram: func(e *engine) *histogram { return &e.ttft }},
		{name: "vllm:inter_token_latency_seconds",
			help:      "Histogram of inter-token latency in seconds.",
			histogram: func(e *engine) *histogram { return &e.itl }},
		{name: "vllm:request_time_per_output_token_seconds",
			help:      "Histogram of time per output token of a request in seconds.",
			histogram: func(e *engine) *histogram { return &e.tpot }},
		{name: "vllm:e2e_request_latency_seconds",
			help:      "Histogram of e2e request latency in seconds.",
			histogram: func(e *engine) *histogram { return &e.e2e }},
		{name: "vllm:request_queue_time_seconds",
			help:      "Histogram of time spent in WAITING phase for request.",
			histogram: func(e *engine) *histogram { return &e.queue }},
		{name: "vllm:request_inference_time_seconds",
			help:      "Histogram of time spent in RUNNING phase for request.",
			histogram: func(e *engine) *histogram { return &e.inference }},
		{name: "vllm:request_prefill_time_seconds",
			help:      "Histogram of time spent in PREFILL phase for request.",
			histogram: func(e *engine) *histogram { return &e.prefill }},
		{name: "vllm:request_decode_time_seconds",
			help:      "Histogram of time spent in DECODE phase for request.",
			histogram: func(e *engine) *histogram { return &e.decode }},
		{name: "vllm:request_prompt_tokens", help: "Number of prefill tokens processed.",
			histogram: func(e *engine) *histogram { return &e.prompts }},
		{name: "vllm:request_generation_tokens", help: "Number of generation tokens processed.",
			histogram: func(e *engine) *histogram { return &e.answers }},
		{name: "vllm:request_prefill_kv_computed_tokens",
			help:      "Number of prompt tokens that were not in the cache.",
			histogram: func(e *engine) *histogram { return &e.fresh }},
		{name: "vllm:request_max_num_generation_tokens",
			help:      "Histogram of maximum number of requested generation tokens.",
			histogram: func(e *engine) *histogram { return &e.wanted }},
		{name: "vllm:request_params_max_tokens",
			help:      "Histogram of the max_tokens request parameter.",
			histogram: func(e *engine) *histogram { return &e.maxTokens }},
		{name: "vllm:request_params_n", help: "Histogram of the n request parameter.",
			histogram: func(e *engine) *histogram { return &e.n }},
		{name: "vllm:iteration_tokens_total",
			help:      "Histogram of number of tokens per engine_step.",
			histogram: func(e *engine) *histogram { return &e.step }},
	}
}

func sglangFamilies() []family {
	return []family{
		{name: "sglang:num_running_reqs", help: "The number of running requests.",
			gauge: func(e *engine) float64 { return float64(e.running) }},
		{name: "sglang:num_queue_reqs", help: "The number of requests in the waiting queue.",
			gauge: func(e *engine) float64 { return float64(e.waiting) }},
		{name: "sglang:num_used_tokens", help: "The number of used tokens.",
			gauge: func(e *engine) float64 { return float64(e.used * int64(e.Block)) }},
		{name: "sglang:max_total_num_tokens", help: "The most tokens that the KV cache holds.",
			gauge: func(e *engine) float64 { return float64(e.capacity * int64(e.Block)) }},
		{name: "sglang:token_usage", help: "The token usage.", gauge: (*engine).usage},
		{name: "sglang:cache_hit_rate", help: "The prefix cache hit rate.",
			gauge: func(e *engine) float64 {
				return float64(e.cached) / float64(max(e.prompt, 1))
			}},
		counterOf("sglang:prompt_tokens_total", "Number of prefill tokens processed.",
			func(e *engine) int64 { return e.prompt }),
		counterOf("sglang:generation_tokens_total", "Number of generation tokens processed.",
			func(e *engine) int64 { return e.generated }),
		counterOf("sglang:cached_tokens_total", "Number of cached prompt tokens.",
			func(e *engine) int64 { return e.cached }),
		counterOf("sglang:num_requests_total", "Number of requests processed.",
			func(e *engine) int64 { return e.ended[stop] + e.ended[length] }),
		counterOf("sglang:num_aborted_requests_total", "Number of requests aborted.",
			func(e *engine) int64 { return e.ended[abort] }),
		counterOf("sglang:num_retracted_requests_total", "Number of requests retracted.",
			func(e *engine) int64 { return e.preemptions }),
		{name: "sglang:time_to_first_token_seconds",
			help:      "Histogram of time to first token in seconds.",
			histogram: func(e *engine) *histogram { return &e.ttft }},
		{name: "sglang:inter_token_latency_seconds",
			help:      "Histogram of inter-token latency in seconds.",
			histogram: func(e *engine) *histogram { return &e.itl }},
		{name: "sglang:e2e_request_latency_seconds",
			help:      "Histogram of end-to-end request latency in seconds.",
			histogram: func(e *engine) *histogram { return &e.e2e }},
		{name: "sglang:queue_time_seconds", help: "Histogram of queueing time in seconds.",
			histogram: func(e *engine) *histogram { return &e.queue }},
	}
}

func counterOf(name, help string, value func(*engine) int64) family {
	return family{name: name, help: help, counter: func(e *engine) float64 {
		return float64(value(e))
	}}
}

func none(*engine) int64 { return 0 }

// usage is the share of the KV memory in use, in [0, 1].
func (e *engine) usage() float64 { return float64(e.used) / float64(max(e.capacity, 1)) }
