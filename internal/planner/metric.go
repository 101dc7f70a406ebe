package planner

import "github.com/llmsim/llmsim/scenarios"

// Metric is a figure of a result.
type Metric struct {
	// Name is the key in the JSON of a result, where it has one, Title is for people, Unit is empty for counts and shares.
	Name, Title, Unit string
	Of                func(*scenarios.Result) float64
}

// Metrics lists the figures of a result that tables and plots show. Energy is an upper bound, see scenarios.Result.
func Metrics() []Metric {
	type result = scenarios.Result
	return []Metric{
		{"completed", "requests completed", "", func(r *result) float64 { return float64(r.Completed) }},
		{"rejected", "requests turned away", "", func(r *result) float64 { return float64(r.Rejected) }},
		{"duration", "duration", "s", func(r *result) float64 { return r.Duration }},
		{"request_throughput", "requests", "1/s", func(r *result) float64 { return r.RequestThroughput }},
		{"output_throughput", "output tokens", "1/s", func(r *result) float64 { return r.OutputThroughput }},
		{"total_token_throughput", "tokens", "1/s", func(r *result) float64 { return r.TotalTokenThroughput }},
		{"mean_ttft_ms", "mean time to first token", "ms", func(r *result) float64 { return r.MeanTTFT }},
		{"median_ttft_ms", "median time to first token", "ms", func(r *result) float64 { return r.MedianTTFT }},
		{"p99_ttft_ms", "99th percentile of the time to first token", "ms", func(r *result) float64 { return r.P99TTFT }},
		{"mean_tpot_ms", "mean time per output token", "ms", func(r *result) float64 { return r.MeanTPOT }},
		{"median_tpot_ms", "median time per output token", "ms", func(r *result) float64 { return r.MedianTPOT }},
		{"p99_tpot_ms", "99th percentile of the time per output token", "ms", func(r *result) float64 { return r.P99TPOT }},
		{"mean_e2el_ms", "mean latency of a request", "ms", func(r *result) float64 { return r.MeanE2EL }},
		{"median_e2el_ms", "median latency of a request", "ms", func(r *result) float64 { return r.MedianE2EL }},
		{"p99_e2el_ms", "99th percentile of the latency of a request", "ms", func(r *result) float64 { return r.P99E2EL }},
		{"goodput", "requests that keep the promise", "1/s", func(r *result) float64 { return r.Goodput }},
		{"slo_attainment", "share of requests that keep the promise", "", func(r *result) float64 { return r.Attainment.All }},
		{"mean_queue_ms", "mean time in the queue", "ms", func(r *result) float64 { return r.MeanQueue }},
		{"preemptions", "preemptions", "", func(r *result) float64 { return float64(r.Preemptions) }},
		{"mean_decode_batch", "mean decode batch", "", func(r *result) float64 { return r.MeanDecodeBatch }},
		{"tokens_per_step", "tokens that a step gives to a sequence", "", tokensPerStep},
		{"speculation_speedup", "tokens of a user with drafts, over those without", "×", speculationSpeedup},
		{"kv_usage", "mean share of the KV memory in use", "", func(r *result) float64 { return r.KVUsage }},
		{"busy", "share of the time in which steps run", "", func(r *result) float64 { return r.Busy }},
		{"mfu", "share of peak arithmetic used", "", func(r *result) float64 { return r.MFU }},
		{"mbu", "share of peak memory bandwidth used", "", func(r *result) float64 { return r.MBU }},
		{"accelerators", "accelerators", "", func(r *result) float64 { return float64(r.Accelerators) }},
		{"cost_per_million_output_tokens", "price of a million output tokens", "$", func(r *result) float64 { return r.CostPerMillion }},
		{"energy_per_million_output_tokens", "energy for a million output tokens", "Wh", energyPerMillion},
	}
}

// tokensPerStep is 1 without speculative decoding.
func tokensPerStep(r *scenarios.Result) float64 {
	if r.SpeculationResult == nil {
		return 1
	}
	return r.TokensPerStep
}

// speculationSpeedup is 1 without speculative decoding, and where the scenario did not run without it for comparison.
func speculationSpeedup(r *scenarios.Result) float64 {
	if r.SpeculationResult == nil || r.Speedup == nil {
		return 1
	}
	return r.Speedup.TPOT
}

func energyPerMillion(r *scenarios.Result) float64 {
	if r.TotalOutputTokens == 0 {
		return 0
	}
	return r.Energy / float64(r.TotalOutputTokens) * 1e6
}
