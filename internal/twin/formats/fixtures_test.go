package formats_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
)

// fixture is a small file of a format, and what a reader must find in it.
type fixture struct {
	name, text, format          string
	runs, requests, steps, ends int // ends is the number of intervals
}

func fixtures() []fixture {
	return append(consoleFixtures(), []fixture{
		{name: "bench.json", format: "vllm-bench", runs: 1, requests: 2,
			text: `{"date":"20260801-120000","model_id":"m","tokenizer_id":"m","completed":2,
"duration":3.0,"request_rate":2.0,"total_input_tokens":30,"total_output_tokens":5,
"mean_ttft_ms":50,"input_lens":[10,20],"output_lens":[3,2],"ttfts":[0.05,0.06],
"itls":[[0.01,0.01],[0.02]],"start_times":[100.0,100.5],"errors":["",""],
"generated_texts":["a secret","another secret"]}`},
		{name: "sglang.jsonl", format: "sglang-bench", runs: 1,
			text: `{"backend":"sglang","request_rate":Infinity,"completed":2,"duration":1,` +
				`"mean_e2e_latency_ms":80,"mean_ttft_ms":20,"mean_tpot_ms":5}`},
		{name: "load.json", format: "llmsim-load", runs: 1,
			text: `{"model":"m","completed":5,"duration":2,"request_throughput":2.5,
"mean_send_delay_ms":0,"mean_ttft_ms":20,"mean_tpot_ms":5,"mean_e2el_ms":90}`},
		{name: "guide.json", format: "guidellm", runs: 1, requests: 1,
			text: `{"metadata":{"version":1},"args":{"model":"m"},"benchmarks":[{"config":{"strategy":
{"type_":"concurrent","streams":2}},"metrics":{"request_totals":{"successful":1}},"requests":
{"successful":[{"prompt_tokens":5,"output_tokens":4,"request_args":"secret",
"info":{"timings":{"request_start":10,"first_iteration":10.1,"last_iteration":10.4}}}]}}]}`},
		{name: "perf.json", format: "inference-perf", runs: 1,
			text: `{"load_summary":{"achieved_rate":1,"send_duration":60},"successes":{"count":60,
"latency":{"request_latency":{"mean":0.5},"time_to_first_token":{"mean":0.03}},
"prompt_len":{"mean":200},"output_len":{"mean":60}},"failures":{}}`},
		{name: "lifecycle.json", format: "inference-perf-requests", runs: 1, requests: 1,
			text: `[{"start_time":5,"end_time":6,"request":"a secret","info":{"response_metrics":
{"output_tokens":3,"server_usage":{"prompt_tokens":7,"completion_tokens":3},
"chunk_times":[5.1,5.5,6]}},"error":null}]`},
		{name: "view.json", format: "inference-perf-prometheus",
			text: `{"load_summary":{},"successes":{"count":3,"queue_len":{"mean":0}}}`},
		{name: "aiperf.jsonl", format: "aiperf", runs: 1, requests: 2,
			text: `{"metadata":{"request_start_ns":1785585600258489000},"metrics":` +
				`{"input_sequence_length":{"value":5,"unit":"tokens"},"output_sequence_length":` +
				`{"value":4,"unit":"tokens"},"time_to_first_token":{"value":50,"unit":"ms"},` +
				`"request_latency":{"value":90,"unit":"ms"}},"error":null}` + "\n" +
				`{"metadata":{"request_start_ns":1785585600158489000},"metrics":{}}`},
		{name: "aiperf.json", format: "aiperf-summary", runs: 1,
			text: `{"request_throughput":{"unit":"requests/sec","avg":3},"request_latency":` +
				`{"unit":"ms","avg":700}}`},
		{name: "answers.jsonl", format: "vllm-responses", runs: 1, requests: 2,
			text: `{"created":1785585600,"choices":[{"message":{"content":"a secret"}}],"usage":` +
				`{"prompt_tokens":42,"completion_tokens":128},"metrics":{"time_to_first_token_ms"` +
				`:85.2,"generation_time_ms":1240.5,"queue_time_ms":12.3,"mean_itl_ms":9.1}}` +
				"\n" + `{"created":1785585599,"usage":{"prompt_tokens":42}}`},
		{name: "fpm.jsonl", format: "fpm", runs: 1, steps: 1,
			text: `{"event":{"schema":"dynamo.fpm.trace.v1","fpm":{"version":1,"wall_time":0.025,` +
				`"scheduled_requests":{"num_prefill_requests":1,"sum_prefill_tokens":9,` +
				`"num_decode_requests":3,"sum_decode_kv_tokens":30}}}}`},
		{name: "spans.json", format: "otlp", runs: 1, requests: 1,
			text: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"178558560000",
"attributes":[{"key":"gen_ai.usage.prompt_tokens","value":{"intValue":"5"}},
{"key":"gen_ai.usage.completion_tokens","value":{"intValue":"4"}},
{"key":"gen_ai.prompt","value":{"stringValue":"a secret"}},
{"key":"gen_ai.latency.time_to_first_token","value":{"doubleValue":0.1}},
{"key":"gen_ai.latency.e2e","value":{"doubleValue":0.4}}]}]}]}]}`},
		{name: "api.json", format: "prometheus-api", runs: 1, ends: 1,
			text: `{"status":"success","data":{"resultType":"matrix","result":[
{"metric":{"__name__":"vllm:time_to_first_token_seconds_sum"},"values":[[100,"1"],[160,"3"]]},
{"metric":{"__name__":"vllm:time_to_first_token_seconds_count"},"values":[[100,"10"],[160,"30"]]}
]}}`},
		{name: "stats.json", format: "trtllm-iterations", text: `[{"iter":1,"iterLatencyMS":7,
"kvCacheStats":{"maxNumBlocks":10,"tokensPerBlock":32}}]`},
		{name: "engine.log", format: "vllm-iterations", runs: 1, steps: 1,
			text: "INFO core.py] Iteration(5): 1 context requests, 1248 context tokens, 43 " +
				"generation requests, 43 generation tokens, iteration elapsed time: 71.13 ms\n"},
		{name: "vllm.log", format: "vllm-log", runs: 1, ends: 1,
			text: "INFO 08-01 12:00:10 [loggers.py:87] Engine 000: Avg prompt throughput: 12.4 " +
				"tokens/s, Avg generation throughput: 29.2 tokens/s, Running: 10 reqs, " +
				"Waiting: 4 reqs, GPU KV cache usage: 57.9%\n"},
		{name: "page.txt", format: "metrics",
			text: "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n"},
		{name: "report.yaml", format: "llm-d-report", runs: 1,
			text: "version: '0.1'\nscenario: {model: {name: m}}\nmetrics:\n" +
				"  requests: {total: 5}\n  latency: {request_latency: {units: ms, mean: 30}}\n"},
		{name: "requests.csv", format: "csv", runs: 1, requests: 1,
			text: "arrival_s,prompt_tokens,output_tokens,ttft_ms,e2e_ms,prompt\n" +
				"0,5,4,50,90,a secret\n"},
		{name: "load.csv", format: "csv", runs: 1, requests: 2,
			text: "id,status,arrival_s,prompt_tokens,output_tokens,ttft_ms,e2el_ms\n" +
				"0,completed,0,5,4,50,90\n1,rejected: timed out,1,5,4,0,0\n"},
		{name: "steps.csv", format: "csv", runs: 1, steps: 1,
			text: "step,prefill_tokens,decode_requests,decode_kv_tokens,step_ms\n1,0,3,300,12\n"},
		{name: "table.txt", format: "printed-table", runs: 2, text: printed("ms", 1) +
			printed("s", 1e-3)},
		{name: "llama.md", format: "llama-bench", runs: 2, text: "| model | test | t/s |\n" +
			"| --- | --- | --- |\n| m | pp512 | 8668.24 ± 11.45 |\n| m | tg 128 | 74.77 |\n"},
		{name: "sglang.log", format: "sglang-decode-log", runs: 1, steps: 1,
			text: "[2026-03-17 07:53:39 TP0] Decode batch, #running-req: 32, #token: 51027, " +
				"token usage: 0.01, gen throughput (token/s): 1600.00, #queue-req: 0\n"},
		{name: "trt.json", format: "trtllm-report", runs: 1,
			text: `{"world_info":{"tp_size":2},"request_info":{"num_requests":10,` +
				`"avg_input_length":100,"avg_output_length":20},"performance":` +
				`{"total_latency_ms":500}}`},
		{name: "offline.json", format: "vllm-throughput", runs: 1,
			text: `{"elapsed_time":10,"num_requests":5,"total_num_tokens":50,` +
				`"tokens_per_second":5}`},
		{name: "llmperf.json", format: "llmperf", runs: 1, text: `{"results_ttft_s_mean":0.2,` +
			`"mean_input_tokens":500,"mean_output_tokens":100,"num_concurrent_requests":4}`},
		{name: "litellm.jsonl", format: "litellm", runs: 1, requests: 1,
			text: `{"startTime":"2026-03-01T10:00:00.100Z","endTime":"2026-03-01 10:00:02.3",` +
				`"completionStartTime":"2026-03-01T10:00:00.500Z","prompt_tokens":9,` +
				`"completion_tokens":5,"messages":"a secret"}`},
		{name: "usage.jsonl", format: "openai-usage", runs: 1, requests: 1,
			text: `{"created":1767225600,"choices":["a secret"],"usage":{"prompt_tokens":12,` +
				`"completion_tokens":3}}`},
		{name: "chats.json", format: "conversations", runs: 1, requests: 1,
			text: `[{"conversations":[{"from":"human","value":"a secret"},{"from":"gpt",` +
				`"value":"another secret"}]}]`},
		{name: "langfuse.csv", format: "langfuse", runs: 1, requests: 1,
			text: "id,timestamp,promptTokens,completionTokens,latency,timeToFirstToken,input\n" +
				"a,2026-03-01T10:00:00.100Z,12,5,2.2,0.4,a secret\n"},
		{name: "stages.csv", format: "csv", runs: 1,
			text: "rate_rps,stage_s,ttft_mean_ms,tpot_mean_ms\n5,60,30,9\n"},
	}...)
}

// printed is a table as load generators print it, with its times in a unit of which a millisecond
// has scale.
func printed(unit string, scale float64) string {
	line := func(name string, value float64) string {
		return fmt.Sprintf("%-40s %.9g\n", name+" ("+unit+"):", value*scale)
	}
	return "============ Serving Benchmark Result ============\n" +
		"Successful requests:                     1,000\n" +
		"Benchmark duration (s):                  300.00\n" +
		"Total input tokens:                      217000\n" +
		"Total generated tokens:                  200000\n" +
		"Output token throughput (tok/s):         653.61\n" +
		line("Mean TTFT", 146809.12) + line("P99 TTFT", 286485.34) + line("Mean TPOT", 45.1)
}

// Tables in a paste are read one by one, and their units change nothing.
func TestUnitsOfPrintedTables(t *testing.T) {
	o, err := formats.Parse("x", []byte("some words: 3\n"+printed("ms", 1)+"and\n"+
		printed("s", 1e-3)+printed("us", 1e3)), formats.Options{})
	testkit.OK(t, err)
	if len(o.Runs) != 3 || o.Runs[0].Load.Prompt != 217 || o.Runs[0].Load.Requests != 1000 ||
		o.Runs[0].Summary.TTFT99 != 286.48534 {
		t.Fatalf("%+v", o.Runs)
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*max(1, y) }
	for i := range o.Runs {
		r, first := &o.Runs[i], &o.Runs[0]
		if r.Load != first.Load || !near(r.Summary.TTFT, first.Summary.TTFT) ||
			!near(r.Summary.TPOT, 0.0451) || r.Summary.E2E != 0 {
			t.Errorf("%+v, want %+v", r, first)
		}
	}
}

// What people paste is read, or refused with what to do.
func TestPasted(t *testing.T) {
	for name, word := range map[string]string{"vllm_table.txt": "", "sglang_decode.log": "",
		"llamabench.md": "", "trtllm_report.json": "", "throughput.json": "", "llmperf.json": "",
		"litellm.jsonl": "", "langfuse.csv": "", "openai_usage.jsonl": "", "sharegpt.json": "",
		"vllm_custom.jsonl": "", "aiperf_mt.jsonl": "workload.trace"} {
		o, err := formats.Read(files.Disk{}, testkit.Shared(t, "pasted", name), formats.Options{})
		switch {
		case word != "" && (err == nil || !strings.Contains(err.Error(), word)):
			t.Errorf("%s: the error is %v, want one with %s", name, err, word)
		case word == "" && err != nil:
			t.Error(err)
		case word == "" && len(o.Runs) == 0:
			t.Errorf("%s: nothing is read", name)
		}
	}
}

func TestFixtures(t *testing.T) {
	covered := map[string]bool{}
	for _, f := range fixtures() {
		o, err := formats.Read(fstest.MapFS{f.name: {Data: []byte(f.text)}}, f.name,
			formats.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		requests, steps, ends := 0, 0, 0
		for i := range o.Runs {
			r := &o.Runs[i]
			requests, steps, ends = requests+len(r.Requests), steps+len(r.Steps),
				ends+len(r.Intervals)
		}
		format := o.Sources[0].Format
		covered[format] = true
		if format != f.format || len(o.Runs) != f.runs || requests != f.requests ||
			steps != f.steps || ends != f.ends {
			t.Errorf("%s: found %s with %d runs, %d requests, %d steps, %d intervals; want %+v",
				f.name, format, len(o.Runs), requests, steps, ends, f)
		}
		dir := t.TempDir()
		testkit.OK(t, o.Save(dir))
		if kept(t, dir, "secret") {
			t.Errorf("%s: a text is kept", f.name)
		}
	}
	for _, name := range formats.Names() {
		if name != "json" && name != "otel-session" && name != "aiperf-input" && !covered[name] {
			t.Errorf("no fixture of %s", name)
		}
	}
}

// Unknown versions are named.
func TestUnknownVersions(t *testing.T) {
	for text, word := range map[string]string{
		`{"metadata":{"version":3},"benchmarks":[]}`:                     "found 3",
		`{"event":{"schema":"dynamo.fpm.trace.v2","fpm":{}}}`:            "dynamo.fpm.trace.v2",
		`{"event":{"schema":"dynamo.fpm.trace.v1","fpm":{"version":2}}}`: "found 2",
		"version: '0.9'\nscenario: {}\n":                                 `"0.9"`,
		`{"status":"error","error":"no","data":null}`:                    "no",
		`{"status":"success","data":{"resultType":"vector"}}`:            "vector",
		`{"unheard":1}`: "unheard",
	} {
		_, err := formats.Parse("x", []byte(text), formats.Options{})
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the error is %v, want one with %s", text, err, word)
		}
	}
}

// Whatever a file contains, reading it ends, without a panic, in values in range or an error.
func FuzzParse(f *testing.F) {
	for _, one := range fixtures() {
		f.Add([]byte(one.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		o, err := formats.Parse("x", data, formats.Options{})
		if err == nil {
			if err := o.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
