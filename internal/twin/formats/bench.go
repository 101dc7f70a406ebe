package formats

import (
	"cmp"
	"path"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// fitsBench reports whether an object is a result of `vllm bench serve`, or one that InferenceX has
// made of it.
func fitsBench(o object) bool {
	return o.has("model_id", "tokenizer_id", "completed")
}

// day returns the day of a date like 20260801-120000, as 2026-08-01.
func day(date string) string {
	if len(date) < 8 {
		return ""
	}
	for _, c := range date[:8] {
		if c < '0' || c > '9' {
			return ""
		}
	}
	return date[:4] + "-" + date[4:6] + "-" + date[6:8]
}

// readBench reads results of `vllm bench serve` (0.25.1, and older ones without `failed` and with a
// colon in request_goodput) and of sweeps: vllm/benchmarks/serve.py.
func readBench(in *input, all []object) error {
	for _, o := range all {
		run := observed.Run{Name: in.name, Date: day(o.text("date"))}
		readBenchLoad(o, &run)
		s := &in.out.Server
		s.Model = cmp.Or(s.Model, o.text("model_id"))
		if o.text("backend") == "vllm" {
			s.Engine = "vllm"
		}
		perSecond, end := 1000.0, "_ms"
		if o.has("median_ttft") || o.has("mean_ttft") { // InferenceX drops _ms, and means seconds
			perSecond, end = 1, ""
			in.source.Version = "InferenceX"
		}
		if o.has("request_goodput:") {
			in.source.Version = "before 2025-07"
		}
		run.Summary = benchFigures(o, perSecond, end, "e2el")
		if o.count("completed") == 0 {
			in.addNote("no request of %s was answered", run.Name)
			continue
		}
		readBenchRequests(in, o, &run)
		if o.has("spec_decode_acceptance_rate") {
			in.addNote("the server drafted tokens: gaps are of chunks with several tokens")
		}
		in.out.Runs = append(in.out.Runs, run)
	}
	in.found("%d runs, %d requests one by one", len(in.out.Runs), in.requests())
	return nil
}

func (in *input) requests() int {
	n := 0
	for i := range in.out.Runs {
		n += len(in.out.Runs[i].Requests)
	}
	return n
}

// benchFigures returns the figures of a result whose keys are such as mean_ttft_ms: in a unit of
// which a second has perSecond and with which keys end, and with a name for the latency of
// requests.
func benchFigures(o object, perSecond float64, end, e2e string) observed.Figures {
	f := figures([3]string{"ttft", "tpot", e2e}, [3]string{"mean", "median", "p99"},
		func(name, statistic string) float64 {
			return o.number(statistic+"_"+name+end) / perSecond
		})
	gap := func(statistic string) float64 {
		return o.number(statistic+"_itl"+end) / perSecond
	}
	f.ITL50, f.ITL90, f.ITL95, f.ITL99 = gap("median"), gap("p90"), gap("p95"), gap("p99")
	f.OutputRate = o.number("output_throughput")
	return f
}

// figures returns what a source says of a run: of its time to first token, time per output token
// and latency of requests, by their names there, the mean, the median and the 99th percentile, by
// theirs, which other percentiles have with their own rank.
func figures(names, statistics [3]string,
	of func(name, statistic string) float64) observed.Figures {
	at := func(name, statistic int) float64 { return of(names[name], statistics[statistic]) }
	as := func(name int, rank string) float64 {
		return of(names[name], strings.Replace(statistics[2], "99", rank, 1))
	}
	return observed.Figures{TTFT: at(0, 0), TTFT50: at(0, 1), TTFT99: at(0, 2),
		TPOT: at(1, 0), TPOT50: at(1, 1), TPOT99: at(1, 2),
		E2E: at(2, 0), E2E50: at(2, 1), E2E99: at(2, 2),
		TTFT90: as(0, "90"), TPOT90: as(1, "90"), E2E90: as(2, "90"),
		TTFT95: as(0, "95"), TPOT95: as(1, "95"), E2E95: as(2, "95")}
}

func readBenchLoad(o object, run *observed.Run) {
	completed := o.number("completed")
	run.Load = observed.Load{Rate: o.number("request_rate"),
		Concurrency: o.count("max_concurrency"), Requests: o.count("completed"),
		Seconds: o.number("duration")}
	if completed > 0 {
		run.Load.Prompt = o.number("total_input_tokens") / completed
		run.Load.Output = o.number("total_output_tokens") / completed
	}
}

// readBenchRequests reads the requests of --save-detailed, whose arrays are in seconds.
func readBenchRequests(in *input, o object, run *observed.Run) {
	prompts, outputs := o.numbers("input_lens"), o.numbers("output_lens")
	ttfts, starts := o.numbers("ttfts"), o.numbers("start_times")
	itls, _ := o["itls"].([]any)
	errors, _ := o["errors"].([]any)
	if len(ttfts) == 0 || len(itls) != len(ttfts) || len(prompts) != len(ttfts) ||
		len(outputs) != len(ttfts) {
		in.lack("single requests: save them with --save-detailed, and the fit sees how latencies " +
			"follow the load")
		return
	}
	if len(starts) != len(ttfts) {
		in.lack("the times at which requests were sent (vllm bench serve before start_times): " +
			"only the figures of whole runs are fitted to")
		return
	}
	for i := range ttfts {
		q := observed.Request{Arrival: starts[i], Prompt: int(min(prompts[i], 1<<30)),
			Output: int(min(outputs[i], 1<<30)), TTFT: ttfts[i]}
		q.E2E = q.TTFT
		for _, gap := range (object{"": itls[i]}).numbers("") {
			q.E2E += gap
		}
		if i < len(errors) {
			words, _ := errors[i].(string)
			q.Failed = words != ""
		}
		run.Requests = append(run.Requests, q)
	}
	run.FromFirst()
	sent := run.Load.Requests
	run.Load.Requests = 0
	if failed, _ := countFailed(run.Requests); failed > 0 {
		in.addNote("%d of %d requests failed, and are left out", failed, sent+failed)
	}
}

// countFailed returns the number of requests that failed, and of those that were served and ended
// without a token.
func countFailed(list []observed.Request) (failed, unanswered int) {
	for i := range list {
		switch q := &list[i]; {
		case q.Failed:
			failed++
		case q.Output == 0:
			unanswered++
		}
	}
	return failed, unanswered
}

// sweepSummary reports whether a file is the summary of a `vllm bench sweep serve` folder, which is
// the list of the runs beside it.
func sweepSummary(name string, data []byte) bool {
	if path.Base(name) != "summary.json" {
		return false
	}
	all := contents(data)
	return len(all) > 0 && fitsBench(all[0]) && all[0].has("run_number")
}

// readSGLang reads lines of sglang.bench_serving (python/sglang/bench_serving.py at 0033168f).
func readSGLang(in *input, all []object) error {
	in.out.Server.Engine = "sglang"
	for _, o := range all {
		run := observed.Run{Name: in.name}
		readBenchLoad(o, &run)
		run.Summary = benchFigures(o, 1000, "_ms", "e2e_latency")
		in.out.Runs = append(in.out.Runs, run)
	}
	in.found("%d runs", len(in.out.Runs))
	in.lack("the times at which requests were sent (sglang.bench_serving does not write them): " +
		"only the figures of whole runs are fitted to")
	return nil
}

// readLoad reads results of llmsim load.
func readLoad(in *input, all []object) error {
	for _, o := range all {
		run := observed.Run{Name: in.name}
		readBenchLoad(o, &run)
		if run.Load.Seconds > 0 {
			run.Load.Rate = o.number("request_throughput")
		}
		run.Summary = benchFigures(o, 1000, "_ms", "e2el")
		s := &in.out.Server
		s.Model = cmp.Or(s.Model, o.text("model"))
		in.out.Runs = append(in.out.Runs, run)
	}
	in.found("%d runs", len(in.out.Runs))
	return nil
}
