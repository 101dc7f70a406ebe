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
	latency := bounds("0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680")
	return Dialect{
		name: "vllm", families: vllmFamilies,
		ttft: bounds("0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 " +
			"7.5 10 20 40 80 160 640 2560"),
		itl: bounds("0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 5 7.5 10 20 40 80"),
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
		e2e: bounds("0.1 0.2 0.4 0.6 0.8 1 2 4 6 8 10 20 40 60 80 100 200 400 600 1200 1800 2400"),
		queue: bounds("0 0.001 0.005 0.01 0.05 0.1 0.2 0.5 1 2 3 4 5 10 15 20 30 40 50 60 70 80 " +
			"90 100 200 300 400 500 600 700 800 900 1000 1200 1400 1600 1800 2000 2500 3000"),
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

// family is a metric. Its value is a whole number of things that there are or a share (an int or a
// float64, a gauge), a number of things that happened (an int64, a counter), or a *histogram.
type family struct {
	name, help string
	value      func(*engine) any
	// labels are those beside the engine's, as pairs.
	labels []string
	// unless leaves out engines that have no such metric.
	unless func(*engine) bool
}

func familyOf(name, help string, value func(*engine) any, labels ...string) family {
	return family{name: name, help: help, value: value, labels: labels}
}

// always is the value of what this server does not have, or always has.
func always[T int | int64](n T) func(*engine) any { return func(*engine) any { return n } }

func vllmFamilies() []family {
	const never = int64(0)
	const source, success = "vllm:prompt_tokens_by_source_total", "vllm:request_success_total"
	const bySource, ended = "Number of prompt tokens by source.", "Count of processed requests."
	const waiting, sleep = "vllm:num_requests_waiting_by_reason", "vllm:engine_sleep_state"
	const why = "Number of waiting requests by reason: capacity (no room in the batch or the " +
		"KV cache) or deferred (a transfer or a grammar is not ready)."
	const state = "Engine sleep state: awake, weights_offloaded (level 1) or discard_all (level 2)."
	list := []family{
		familyOf("vllm:num_requests_running", "Number of requests in model execution batches.",
			func(e *engine) any { return e.running }),
		familyOf("vllm:num_requests_waiting", "Number of requests waiting to be processed.",
			func(e *engine) any { return e.waiting }),
		familyOf("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.",
			(*engine).usage),
		familyOf("vllm:prefix_cache_queries_total", "Prefix cache queries, in tokens.",
			func(e *engine) any { return e.queried }),
		familyOf("vllm:prefix_cache_hits_total", "Prefix cache hits, in tokens.",
			func(e *engine) any { return e.cached }),
		familyOf("vllm:external_prefix_cache_queries_total",
			"Queries of prefix caches elsewhere, in tokens.", always(never)),
		familyOf("vllm:external_prefix_cache_hits_total",
			"Hits in prefix caches elsewhere, in tokens.", always(never)),
		familyOf("vllm:mm_cache_queries_total", "Queries of the cache of images and sounds.",
			always(never)),
		familyOf("vllm:mm_cache_hits_total", "Hits in the cache of images and sounds.",
			always(never)),
		familyOf("vllm:num_preemptions_total", "Number of preemptions.",
			func(e *engine) any { return e.preemptions }),
		familyOf("vllm:prompt_tokens_total", "Number of prefill tokens processed.",
			func(e *engine) any { return e.prompt }),
		familyOf("vllm:prompt_tokens_cached_total", "Number of prompt tokens from the cache.",
			func(e *engine) any { return e.cached }),
		familyOf("vllm:prompt_tokens_recomputed_total", "Number of prompt tokens computed again.",
			func(e *engine) any { return e.recomputed }),
		familyOf("vllm:generation_tokens_total", "Number of generation tokens processed.",
			func(e *engine) any { return e.generated }),
		familyOf("vllm:corrupted_requests_total", "Number of requests with broken logits.",
			always(never)),
		familyOf(source, bySource, func(e *engine) any { return e.prompt - e.cached },
			"source", "local_compute"),
		familyOf(source, bySource, func(e *engine) any { return e.cached },
			"source", "local_cache_hit"),
		familyOf(source, bySource, always(never), "source", "external_kv_transfer"),
	}
	for how := range endings {
		list = append(list, familyOf(success, ended,
			func(e *engine) any { return e.ended[how] }, "finished_reason", how.String()))
	}
	list = append(list,
		familyOf(waiting, why, func(e *engine) any { return e.waiting }, "reason", "capacity"),
		familyOf(waiting, why, always(0), "reason", "deferred"),
		familyOf(sleep, state, always(1), "sleep_state", "awake"),
		familyOf(sleep, state, always(0), "sleep_state", "weights_offloaded"),
		familyOf(sleep, state, always(0), "sleep_state", "discard_all"))
	return append(append(list, vllmDrafts()...), vllmHistograms()...)
}

// vllmDrafts are the families of speculative decoding.
func vllmDrafts() []family {
	list := []family{
		familyOf("vllm:spec_decode_num_drafts_total", "Number of drafts.",
			func(e *engine) any { return e.drafts }),
		familyOf("vllm:spec_decode_num_draft_tokens_total", "Number of draft tokens.",
			func(e *engine) any { return e.drafted }),
		familyOf("vllm:spec_decode_num_accepted_tokens_total", "Number of accepted tokens.",
			func(e *engine) any { return e.accepted }),
	}
	for i := range list {
		list[i].unless = func(e *engine) bool { return !e.Drafts }
	}
	return list
}

func vllmHistograms() []family {
	return []family{
		familyOf("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.",
			func(e *engine) any { return &e.ttft }),
		familyOf("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.",
			func(e *engine) any { return &e.itl }),
		familyOf("vllm:request_time_per_output_token_seconds",
			"Histogram of time per output token of a request in seconds.",
			func(e *engine) any { return &e.tpot }),
		familyOf("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.",
			func(e *engine) any { return &e.e2e }),
		familyOf("vllm:request_queue_time_seconds",
			"Histogram of time spent in WAITING phase for request.",
			func(e *engine) any { return &e.queue }),
		familyOf("vllm:request_inference_time_seconds",
			"Histogram of time spent in RUNNING phase for request.",
			func(e *engine) any { return &e.inference }),
		familyOf("vllm:request_prefill_time_seconds",
			"Histogram of time spent in PREFILL phase for request.",
			func(e *engine) any { return &e.prefill }),
		familyOf("vllm:request_decode_time_seconds",
			"Histogram of time spent in DECODE phase for request.",
			func(e *engine) any { return &e.decode }),
		familyOf("vllm:request_prompt_tokens", "Number of prefill tokens processed.",
			func(e *engine) any { return &e.prompts }),
		familyOf("vllm:request_generation_tokens", "Number of generation tokens processed.",
			func(e *engine) any { return &e.answers }),
		familyOf("vllm:request_prefill_kv_computed_tokens",
			"Number of prompt tokens that were not in the cache.",
			func(e *engine) any { return &e.fresh }),
		familyOf("vllm:request_max_num_generation_tokens",
			"Histogram of maximum number of requested generation tokens.",
			func(e *engine) any { return &e.wanted }),
		familyOf("vllm:request_params_max_tokens", "Histogram of the max_tokens request parameter.",
			func(e *engine) any { return &e.maxTokens }),
		familyOf("vllm:request_params_n", "Histogram of the n request parameter.",
			func(e *engine) any { return &e.n }),
		familyOf("vllm:iteration_tokens_total", "Histogram of number of tokens per engine_step.",
			func(e *engine) any { return &e.step }),
	}
}

func sglangFamilies() []family {
	return []family{
		familyOf("sglang:num_running_reqs", "The number of running requests.",
			func(e *engine) any { return e.running }),
		familyOf("sglang:num_queue_reqs", "The number of requests in the waiting queue.",
			func(e *engine) any { return e.waiting }),
		familyOf("sglang:num_used_tokens", "The number of used tokens.",
			func(e *engine) any { return float64(e.used * int64(e.Block)) }),
		familyOf("sglang:max_total_num_tokens", "The most tokens that the KV cache holds.",
			func(e *engine) any { return float64(e.capacity * int64(e.Block)) }),
		familyOf("sglang:token_usage", "The token usage.", (*engine).usage),
		familyOf("sglang:cache_hit_rate", "The prefix cache hit rate.",
			func(e *engine) any { return float64(e.cached) / float64(max(e.prompt, 1)) }),
		familyOf("sglang:prompt_tokens_total", "Number of prefill tokens processed.",
			func(e *engine) any { return e.prompt }),
		familyOf("sglang:generation_tokens_total", "Number of generation tokens processed.",
			func(e *engine) any { return e.generated }),
		familyOf("sglang:cached_tokens_total", "Number of cached prompt tokens.",
			func(e *engine) any { return e.cached }),
		familyOf("sglang:num_requests_total", "Number of requests processed.",
			func(e *engine) any { return e.ended[stop] + e.ended[length] }),
		familyOf("sglang:num_aborted_requests_total", "Number of requests aborted.",
			func(e *engine) any { return e.ended[abort] }),
		familyOf("sglang:num_retracted_requests_total", "Number of requests retracted.",
			func(e *engine) any { return e.preemptions }),
		familyOf("sglang:time_to_first_token_seconds",
			"Histogram of time to first token in seconds.",
			func(e *engine) any { return &e.ttft }),
		familyOf("sglang:inter_token_latency_seconds",
			"Histogram of inter-token latency in seconds.",
			func(e *engine) any { return &e.itl }),
		familyOf("sglang:e2e_request_latency_seconds",
			"Histogram of end-to-end request latency in seconds.",
			func(e *engine) any { return &e.e2e }),
		familyOf("sglang:queue_time_seconds", "Histogram of queueing time in seconds.",
			func(e *engine) any { return &e.queue }),
	}
}

// usage is the share of the KV memory in use, in [0, 1].
func (e *engine) usage() any { return float64(e.used) / float64(max(e.capacity, 1)) }
