package formats

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// readGuideLLM reads benchmarks.json of GuideLLM: schemas before 0.5, 1 (0.5 to 0.6) and 2 (from
// 0.7). Times end in _ms, but request_latency is in seconds.
func readGuideLLM(in *input, all []object) error {
	o := all[0]
	in.source.Version = "before 0.5"
	if meta := o.at("metadata"); meta != nil {
		switch v := meta.count("version"); v {
		case 1, 2:
			in.source.Version = fmt.Sprintf("schema %d, %s", v, meta.text("guidellm_version"))
		default:
			return in.errorf("GuideLLM's metadata.version: found %d, allowed: 1, 2, or none", v)
		}
	}
	s := &in.out.Server
	s.Model = cmp.Or(s.Model, o.at("args").text("model"), o.at("config").text("model"))
	for _, b := range o.list("benchmarks") {
		in.out.Runs = append(in.out.Runs, guideBenchmark(in, b))
	}
	in.found("%d benchmarks, %d requests one by one", len(in.out.Runs), in.requests())
	return nil
}

func guideBenchmark(in *input, b object) observed.Run {
	strategy := b.at("config", "strategy")
	if strategy == nil {
		strategy = b.at("args", "strategy")
	}
	kind := strategy.text("type_")
	run := observed.Run{Name: cmp.Or(kind, "benchmark")}
	l := &run.Load
	l.Concurrency = cmp.Or(strategy.count("streams"), strategy.count("max_concurrency"))
	if kind == "synchronous" {
		l.Concurrency = 1
	}
	l.Rate = strategy.number("rate")
	metrics := b.at("metrics")
	good := func(name string) object { return metrics.at(name, "successful") }
	mean := func(name string) float64 {
		o := good(name)
		if v := o.number("mean"); v > 0 {
			return v
		}
		if n := max(o.number("total_count"), o.number("count")); n > 0 {
			return o.number("total_sum") / n
		}
		return 0
	}
	l.Requests = cmp.Or(metrics.at("request_totals").count("successful"),
		b.at("request_totals").count("successful"), good("request_latency").count("count"))
	l.Prompt, l.Output = mean("prompt_token_count"), mean("output_token_count")
	l.Seconds = b.number("duration")
	run.Summary = figures(
		[3]string{"time_to_first_token_ms", "inter_token_latency_ms", "request_latency"},
		[3]string{"mean", "median", "p99"}, func(name, statistic string) float64 {
			unit := 1.0
			if strings.HasSuffix(name, "_ms") {
				unit = 1000
			}
			if statistic == "mean" {
				return mean(name) / unit
			}
			o := good(name)
			return cmp.Or(o.number(statistic), o.at("percentiles").number(statistic)) / unit
		})
	run.Summary.OutputRate = mean("output_tokens_per_second")
	requests := b.at("requests").list("successful")
	if len(requests) < l.Requests { // a sample says nothing of the load that the others were
		in.addNote("%s: %d of %d requests are in the file; its figures are used instead", run.Name,
			len(requests), l.Requests)
		return run
	}
	guideRequests(requests, &run)
	return run
}

// guideRequests reads requests: before 0.5 with times of their own, later with info.timings.
func guideRequests(list []object, run *observed.Run) {
	for _, r := range list {
		times, first, last := r, "first_token_time", "last_token_time"
		start := r.number("start_time")
		if t := r.at("info", "timings"); t != nil {
			times, first, last = t, "first_iteration", "last_iteration"
			start = t.number("request_start")
			if !t.has(first) {
				first, last = "first_token_iteration", "last_token_iteration"
			}
		}
		q := observed.Request{Arrival: start, Prompt: r.count("prompt_tokens"),
			Output: r.count("output_tokens"), TTFT: max(0, times.number(first)-start),
			E2E: max(0, times.number(last)-start)}
		run.Requests = append(run.Requests, q)
	}
	run.FromFirst() // they are listed as they ended
}
