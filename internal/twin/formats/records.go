package formats

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"strconv"
	"time"

	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// readTRTLLMReport reads trtllm-bench's report (--report_json): all requests are queued at once, up
// to a limit on those in flight.
func readTRTLLMReport(in *input, all []object) error {
	for _, o := range all {
		asked, speed := o.at("request_info"), o.at("performance")
		times := o.at("streaming_metrics")
		run := observed.Run{Name: in.name, Load: observed.Load{
			Requests: asked.count("num_requests"), Prompt: asked.number("avg_input_length"),
			Output:      asked.number("avg_output_length"),
			Concurrency: int(asked.number("avg_num_concurrent_requests") + 0.5),
			Seconds:     speed.number("total_latency_ms") / 1000},
			Summary: observed.Figures{TTFT: times.number("avg_ttft_ms") / 1000,
				TPOT:       times.number("avg_tpot_ms") / 1000,
				E2E:        speed.number("avg_request_latency_ms") / 1000,
				OutputRate: speed.number("system_output_throughput_tok_s")}}
		s := &in.out.Server
		s.Engine, s.Model = "trtllm", cmp.Or(s.Model, o.at("engine").text("model"))
		s.Version = cmp.Or(s.Version, o.at("engine").text("version"))
		s.Tensor = cmp.Or(s.Tensor, o.at("world_info").count("tp_size"))
		in.out.Runs = append(in.out.Runs, run)
	}
	in.found("%d runs", len(in.out.Runs))
	in.lack("single requests: the report has means only; its concurrency is the mean one")
	return nil
}

// readThroughput reads the result of `vllm bench throughput` (vllm/benchmarks/throughput.py), whose
// requests all start at once. It counts the tokens of prompts and answers together.
func readThroughput(in *input, all []object) error {
	for _, o := range all {
		n := o.count("num_requests")
		if n == 0 {
			return in.errorf("num_requests: found none, want a number above 0")
		}
		in.out.Runs = append(in.out.Runs, observed.Run{Name: in.name, Load: observed.Load{
			Requests: n, Seconds: o.number("elapsed_time"), Concurrency: n}})
		in.addNote("%.4g tokens a request, those of prompts and answers together",
			o.number("total_num_tokens")/float64(n))
	}
	in.found("%d runs", len(in.out.Runs))
	in.lack("lengths of prompts and of answers apart: give the command with --input-len and " +
		"--output-len")
	return nil
}

// readLLMPerf reads the summary of LLMPerf, whose times are in seconds.
func readLLMPerf(in *input, all []object) error {
	for _, o := range all {
		f := figures([3]string{"ttft", "inter_token_latency", "end_to_end_latency"},
			[3]string{"mean", "quantiles_p50", "quantiles_p99"},
			func(name, statistic string) float64 {
				return o.number("results_" + name + "_s_" + statistic)
			})
		f.OutputRate = o.number("results_mean_output_throughput_token_per_s")
		rate := o.number("results_num_completed_requests_per_min") / 60
		n := o.count("results_num_completed_requests")
		load := observed.Load{Requests: n, Concurrency: o.count("num_concurrent_requests"),
			Prompt: cmp.Or(o.number("results_number_input_tokens_mean"),
				o.number("mean_input_tokens")),
			Output: cmp.Or(o.number("results_number_output_tokens_mean"),
				o.number("mean_output_tokens"))}
		if rate > 0 {
			load.Seconds = float64(n) / rate
		}
		if load.Prompt > 0 {
			load.PromptSpread = o.number("stddev_input_tokens") / load.Prompt
		}
		if load.Output > 0 {
			load.OutputSpread = o.number("stddev_output_tokens") / load.Output
		}
		in.out.Server.Model = cmp.Or(in.out.Server.Model, o.text("model"))
		in.out.Runs = append(in.out.Runs, observed.Run{Name: in.name, Load: load, Summary: f})
	}
	in.found("%d runs", len(in.out.Runs))
	return nil
}

// moment returns a time of the calendar in Unix seconds; false for another text.
func moment(words string) (float64, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, words); err == nil {
			return float64(t.Unix()) + float64(t.Nanosecond())/1e9, true
		}
	}
	return 0, false
}

// readLiteLLM reads LiteLLM's spend logs, a request a line.
func readLiteLLM(in *input, all []object) error {
	run, without := observed.Run{Name: in.name}, 0
	for _, o := range all {
		start, ok := moment(o.text("startTime"))
		end, ended := moment(o.text("endTime"))
		if !ok || !ended || o.count("prompt_tokens") == 0 {
			without++
			continue
		}
		q := observed.Request{Arrival: start, E2E: max(0, end-start),
			Prompt: o.count("prompt_tokens"), Output: o.count("completion_tokens")}
		if first, ok := moment(o.text("completionStartTime")); ok {
			q.TTFT = max(0, first-start)
		}
		if q.TTFT >= q.E2E { // not streamed: the first token is not known
			q.TTFT = 0
		}
		run.Requests = append(run.Requests, q)
	}
	return in.keep(run, without, "startTime, endTime or prompt_tokens")
}

// keep adds a run of requests, of which some have no times or no lengths.
func (in *input) keep(run observed.Run, without int, lacking string) error {
	if len(run.Requests) == 0 {
		return in.errorf("found no request with %s", lacking)
	}
	run.FromFirst()
	in.found("%d requests", len(run.Requests))
	if without > 0 {
		in.addNote("%d requests have no %s, and are left out", without, lacking)
	}
	in.out.Runs = append(in.out.Runs, run)
	return nil
}

// readUsage reads answers of OpenAI's API with their usage, which say when an answer was made and
// how long it is, and no latency.
func readUsage(in *input, all []object) error {
	run, without := observed.Run{Name: in.name}, 0
	for _, o := range all {
		usage := o.at("usage")
		q := observed.Request{Arrival: o.number("created"), Prompt: usage.count("prompt_tokens"),
			Output: usage.count("completion_tokens"),
			Cached: usage.at("prompt_tokens_details").count("cached_tokens")}
		if q.Prompt == 0 || q.Arrival == 0 {
			without++
			continue
		}
		run.Requests = append(run.Requests, q)
	}
	in.addNote("arrivals are known to the second")
	in.lack("latencies: records of usage have none, so that only the load is taken from them")
	return in.keep(run, without, "created or usage.prompt_tokens")
}

// readConversations counts the tokens of texts: the first question and answer of ShareGPT's
// conversations, or prompts with the lengths of their answers as vLLM's custom dataset has them.
func readConversations(in *input, all []object) error {
	words, err := text.NewVocabulary()
	if err != nil {
		return err
	}
	run, without := observed.Run{Name: in.name, Load: observed.Load{Untimed: true}}, 0
	for _, o := range all {
		prompt, answer := o.whole("prompt"), ""
		if turns := o.list("conversations"); len(turns) > 1 {
			prompt, answer = turns[0].whole("value"), turns[1].whole("value")
		}
		in, err := words.Encode(prompt)
		if err != nil {
			return err
		}
		out, err := words.Encode(answer)
		if err != nil {
			return err
		}
		q := observed.Request{Prompt: len(in), Output: len(out) + o.count("output_tokens")}
		if q.Prompt == 0 || q.Output == 0 {
			without++
			continue
		}
		run.Requests = append(run.Requests, q)
	}
	in.addNote("tokens are counted with cl100k_base, which is some percent off other tokenizers")
	in.lack("times: the texts have none; give a rate, or a number of users")
	return in.keep(run, without, "question and answer")
}

// whole returns the text at a key, of any length.
func (o object) whole(key string) string {
	s, _ := o[key].(string)
	return s
}

func fitsLangfuse(data []byte) bool {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return bytes.Contains(line, []byte("promptTokens")) &&
		bytes.Contains(line, []byte("completionTokens")) &&
		bytes.Contains(line, []byte("timestamp"))
}

// readLangfuse reads an export of Langfuse's table of traces: times of the calendar, and latencies
// in seconds.
func readLangfuse(in *input) error {
	r := csv.NewReader(bytes.NewReader(in.data))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return in.errorf("%w", err)
	}
	run, without := observed.Run{Name: in.name}, 0
	for _, row := range rows[1:] {
		of := map[string]string{}
		for i := range min(len(row), len(rows[0])) {
			of[rows[0][i]] = row[i]
		}
		number := func(key string) float64 {
			v, err := strconv.ParseFloat(of[key], 64)
			if err != nil || !observed.Finite(v) {
				return 0
			}
			return v
		}
		at, ok := moment(of["timestamp"])
		q := observed.Request{Arrival: at, Prompt: int(min(number("promptTokens"), 1<<30)),
			Output: int(min(number("completionTokens"), 1<<30)), TTFT: number("timeToFirstToken"),
			E2E: number("latency")}
		if !ok || q.Prompt == 0 {
			without++
			continue
		}
		run.Requests = append(run.Requests, q)
	}
	return in.keep(run, without, "timestamp or promptTokens")
}

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
