package formats

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// readPerf reads stage and summary files of inference-perf, all of whose times are in seconds
// (inference_perf/reportgen, 7de5ef2e and later).
func readPerf(in *input, all []object) error {
	for _, o := range all {
		load, good := o.at("load_summary"), o.at("successes")
		latency := good.at("latency")
		of := func(name, statistic string) float64 { return latency.at(name).number(statistic) }
		run := observed.Run{Name: in.name, Load: observed.Load{
			Rate:        cmp.Or(load.number("achieved_rate"), load.number("requested_rate")),
			Concurrency: load.count("concurrency"), Requests: good.count("count"),
			Seconds: load.number("send_duration"), Prompt: good.at("prompt_len").number("mean"),
			Output: good.at("output_len").number("mean")}}
		run.Summary = figures([3]string{"time_to_first_token", "", "request_latency"},
			[3]string{"mean", "median", "p99"}, of)
		run.Summary.OutputRate = good.at("throughput").number("output_tokens_per_sec")
		// Its gaps are of chunks: the rest of the latency over the rest of the tokens is the TPOT.
		if s := &run.Summary; run.Load.Output > 1 && s.E2E > s.TTFT && s.TTFT > 0 {
			s.TPOT = (s.E2E - s.TTFT) / (run.Load.Output - 1)
		}
		if run.Load.Requests > 0 {
			in.out.Runs = append(in.out.Runs, run)
		}
	}
	in.found("%d stages", len(in.out.Runs))
	in.lack("single requests (inference-perf: report.request_lifecycle.per_request)")
	return nil
}

// readPerfPrometheus reads the view of Prometheus that inference-perf writes beside a stage. Its
// window is wider than the stage, so that only lengths and the server's latencies are taken.
func readPerfPrometheus(in *input, all []object) error {
	good := all[0].at("successes")
	in.found("means of %d requests over a window of Prometheus", good.count("count"))
	in.addNote("the window holds more than the stage, so that its load is not known: nothing is " +
		"fitted to it")
	return nil
}

// readPerfRequests reads the requests of inference-perf: monotonic seconds.
func readPerfRequests(in *input, all []object) error {
	run := observed.Run{Name: in.name}
	for _, o := range all {
		start, info := o.number("start_time"), o.at("info")
		answer := info.at("response_metrics")
		usage := answer.at("server_usage")
		chunks := answer.numbers("chunk_times")
		q := observed.Request{Arrival: start, E2E: max(0, o.number("end_time")-start),
			Prompt: cmp.Or(usage.count("prompt_tokens"),
				info.at("request_metrics", "text").count("input_tokens"),
				info.count("input_tokens")),
			Output: cmp.Or(usage.count("completion_tokens"), answer.count("output_tokens"))}
		if len(chunks) > 0 {
			q.TTFT = max(0, chunks[0]-start)
		}
		q.Failed = o.at("error") != nil
		run.Requests = append(run.Requests, q)
	}
	run.FromFirst()
	if n, _ := countFailed(run.Requests); n > 0 {
		in.addNote("%d of %d requests failed, and are left out", n, len(run.Requests))
	}
	in.out.Runs = append(in.out.Runs, run)
	in.found("%d requests", len(run.Requests))
	return nil
}

// readAIPerf reads profile_export.jsonl of AIPerf, whose times are nanoseconds since 1970 and
// latencies have units of their own.
func readAIPerf(in *input, all []object) error {
	run := observed.Run{Name: in.name}
	var origin *big.Int
	for _, o := range all {
		meta, metrics := o.at("metadata"), o.at("metrics")
		if phase := meta.text("benchmark_phase"); phase != "" && phase != "profiling" {
			continue
		}
		seconds := func(name string) float64 {
			m := metrics.at(name)
			return m.number("value") * timeUnit(m.text("unit"))
		}
		q := observed.Request{Arrival: meta.nanoseconds("request_start_ns", &origin),
			Prompt: metrics.at("input_sequence_length").count("value"),
			Output: metrics.at("output_sequence_length").count("value"),
			TTFT:   seconds("time_to_first_token"), E2E: seconds("request_latency")}
		q.Failed = o.at("error") != nil || meta["was_cancelled"] == true || q.Prompt == 0
		run.Requests = append(run.Requests, q)
	}
	run.FromFirst()
	if n, _ := countFailed(run.Requests); n > 0 {
		in.addNote("%d of %d requests failed or were cancelled, and are left out", n,
			len(run.Requests))
	}
	in.out.Runs = append(in.out.Runs, run)
	in.found("%d requests", len(run.Requests))
	return nil
}

// timeUnit returns the seconds of a unit's name; 0 for one that is not known.
func timeUnit(name string) float64 {
	return map[string]float64{"s": 1, "sec": 1, "seconds": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
		"s/token": 1, "ms/token": 1e-3}[name]
}

// readAIPerfSummary reads profile_export_aiperf.json.
func readAIPerfSummary(in *input, all []object) error {
	o := all[0]
	of := func(name, statistic string) float64 {
		m := o.at(name)
		return m.number(statistic) * timeUnit(m.text("unit"))
	}
	loadgen := o.at("input_config", "loadgen")
	run := observed.Run{Name: in.name, Load: observed.Load{
		Concurrency: loadgen.count("concurrency"),
		Requests:    o.at("request_count").count("avg"),
		Prompt:      o.at("input_sequence_length").number("avg"),
		Output:      o.at("output_sequence_length").number("avg")}}
	run.Summary = figures([3]string{"time_to_first_token", "inter_token_latency",
		"request_latency"}, [3]string{"avg", "p50", "p99"}, of)
	run.Summary.OutputRate = o.at("output_token_throughput").number("avg")
	if run.Load.Concurrency == 0 {
		run.Load.Rate = cmp.Or(loadgen.number("request_rate"),
			o.at("request_throughput").number("avg"))
	}
	if names, _ := o.at("input_config", "endpoint")["model_names"].([]any); len(names) > 0 {
		in.out.Server.Model = (object{"": names[0]}).text("")
	}
	in.out.Runs = append(in.out.Runs, run)
	in.found("1 run")
	if loadgen == nil {
		in.lack("the load's kind (open or closed): the summary of AIPerf does not say it")
	}
	return nil
}

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
