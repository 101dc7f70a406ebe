package formats

import "github.com/llmsim/llmsim/internal/twin/observed"

// readResponses reads answers of vLLM with --enable-per-request-metrics, an object a line or a list
// (docs/features/per_request_metrics.md, November 2026). A first token's time is counted from when
// the request was scheduled, so that the time in the queue comes before it. Texts are not kept.
func readResponses(in *input, all []object) error {
	const ms = 1e-3
	run := observed.Run{Name: in.name}
	without := 0
	for _, o := range all {
		usage, metrics := o.at("usage"), o.at("metrics")
		q := observed.Request{Arrival: o.number("created"), Prompt: usage.count("prompt_tokens"),
			Output: usage.count("completion_tokens"),
			Cached: usage.at("prompt_tokens_details").count("cached_tokens"),
			TTFT: ms * (metrics.number("queue_time_ms") +
				metrics.number("time_to_first_token_ms"))}
		q.E2E = q.TTFT + ms*metrics.number("generation_time_ms")
		if q.Prompt == 0 || q.Output > 0 && q.TTFT == 0 {
			without++
			continue
		}
		run.Requests = append(run.Requests, q)
	}
	run.FromFirst()
	in.found("%d requests", len(run.Requests))
	if without > 0 {
		in.addNote("%d answers have no metrics or no prompt, and are left out", without)
	}
	in.addNote("arrivals are known to the second, and times are the engine's: they lack what its " +
		"front end and the network take")
	if len(run.Requests) > 0 {
		in.out.Runs = append(in.out.Runs, run)
	}
	return nil
}
