package formats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// asJSON writes a value.
func asJSON(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	testkit.OK(t, err)
	return string(data)
}

// dict is a JSON object.
type dict = map[string]any

// clients write requests as load generators do, with times in seconds since an origin, which is
// some days after that of their clock. Answers come in any order.
func clients() map[string]func(t *rapid.T, origin float64, list []observed.Request) string {
	each := func(t *rapid.T, list []observed.Request, of func(q *observed.Request) any) string {
		var lines []string
		for i := range list {
			lines = append(lines, asJSON(t, of(&list[i])))
		}
		return strings.Join(lines, "\n")
	}
	guide := func(version int, first, last string) func(*rapid.T, float64,
		[]observed.Request) string {
		return func(t *rapid.T, origin float64, list []observed.Request) string {
			var all []dict
			for _, q := range list {
				at := origin + q.Arrival
				r := dict{"prompt_tokens": q.Prompt, "output_tokens": q.Output}
				times := dict{"request_start": at, first: at + q.TTFT, last: at + q.E2E}
				if r["info"] = (dict{"timings": times}); version == 0 {
					r = dict{"prompt_tokens": q.Prompt, "output_tokens": q.Output, "start_time": at,
						first: at + q.TTFT, last: at + q.E2E}
				}
				all = append(all, r)
			}
			o := dict{"benchmarks": []dict{{"requests": dict{"successful": all}}}}
			if version > 0 {
				o["metadata"] = dict{"version": version}
			}
			return asJSON(t, o)
		}
	}
	return map[string]func(t *rapid.T, origin float64, list []observed.Request) string{
		"guidellm before 0.5": guide(0, "first_token_time", "last_token_time"),
		"guidellm schema 1":   guide(1, "first_iteration", "last_iteration"),
		"guidellm schema 2":   guide(2, "first_token_iteration", "last_token_iteration"),
		"vllm bench serve": func(t *rapid.T, origin float64, list []observed.Request) string {
			var in, out, ttfts, starts []float64
			var itls [][]float64
			for _, q := range list {
				in, out = append(in, float64(q.Prompt)), append(out, float64(q.Output))
				ttfts, starts = append(ttfts, q.TTFT), append(starts, origin+q.Arrival)
				itls = append(itls, []float64{(q.E2E - q.TTFT) / 4, (q.E2E - q.TTFT) * 3 / 4})
			}
			return asJSON(t, dict{"model_id": "m", "tokenizer_id": "m", "completed": len(list),
				"input_lens": in, "output_lens": out, "ttfts": ttfts, "itls": itls,
				"start_times": starts})
		},
		"inference-perf": func(t *rapid.T, origin float64, list []observed.Request) string {
			var all []dict
			for _, q := range list {
				at := origin + q.Arrival
				all = append(all, dict{"start_time": at, "end_time": at + q.E2E, "info": dict{
					"response_metrics": dict{"chunk_times": []float64{at + q.TTFT, at + q.E2E},
						"server_usage": dict{"prompt_tokens": q.Prompt,
							"completion_tokens": q.Output}}}})
			}
			return asJSON(t, all)
		},
		"aiperf": func(t *rapid.T, origin float64, list []observed.Request) string {
			return each(t, list, func(q *observed.Request) any {
				return dict{"metadata": dict{"request_start_ns": int64(1e9 * (origin + q.Arrival))},
					"metrics": dict{"input_sequence_length": dict{"value": q.Prompt},
						"output_sequence_length": dict{"value": q.Output},
						"time_to_first_token":    dict{"value": q.TTFT * 1e3, "unit": "ms"},
						"request_latency":        dict{"value": q.E2E * 1e6, "unit": "us"}}}
			})
		},
		"otlp": func(t *rapid.T, origin float64, list []observed.Request) string {
			var spans []dict
			for i, q := range list {
				attribute := func(key, kind string, value any) dict {
					return dict{"key": key, "value": dict{kind: value}}
				}
				spans = append(spans, dict{"spanId": fmt.Sprint(i),
					"startTimeUnixNano": fmt.Sprint(int64(1e9 * (origin + q.Arrival))),
					"attributes": []dict{
						attribute("gen_ai.usage.prompt_tokens", "intValue", fmt.Sprint(q.Prompt)),
						attribute("gen_ai.usage.output_tokens", "intValue", fmt.Sprint(q.Output)),
						attribute("gen_ai.latency.time_to_first_token", "doubleValue", q.TTFT),
						attribute("gen_ai.latency.e2e", "doubleValue", q.E2E)}})
			}
			return asJSON(t,
				dict{"resourceSpans": []dict{{"scopeSpans": []dict{{"spans": spans}}}}})
		},
		"vllm responses": func(t *rapid.T, origin float64, list []observed.Request) string {
			return each(t, list, func(q *observed.Request) any {
				return dict{"created": origin + q.Arrival, "usage": dict{"prompt_tokens": q.Prompt,
					"completion_tokens": q.Output}, "metrics": dict{"queue_time_ms": q.TTFT * 250,
					"time_to_first_token_ms": q.TTFT * 750,
					"generation_time_ms":     1000 * (q.E2E - q.TTFT)}}
			})
		},
		"csv of latencies": func(t *rapid.T, _ float64, list []observed.Request) string {
			lines := []string{"arrival_ms,prompt_tokens,output_tokens,ttft_us,e2e_s,cached_tokens"}
			for _, q := range list {
				lines = append(lines, fmt.Sprintf("%g,%d,%d,%g,%g,0", q.Arrival*1e3, q.Prompt,
					q.Output,
					q.TTFT*1e6, q.E2E))
			}
			return strings.Join(lines, "\n")
		},
		"csv of moments": func(t *rapid.T, _ float64, list []observed.Request) string {
			lines := []string{"arrival_s,input_tokens,output_tokens,first_token_ms,last_token_s"}
			for _, q := range list {
				lines = append(lines, fmt.Sprintf("%g,%d,%d,%g,%g", q.Arrival, q.Prompt, q.Output,
					1e3*(q.Arrival+q.TTFT), q.Arrival+q.E2E))
			}
			return strings.Join(lines, "\n")
		},
	}
}

// Whatever client writes requests, and in whatever order, they are read as they were, from the
// first of them on.
func TestRequestsOfAllClients(t *testing.T) {
	for client, write := range clients() {
		t.Run(client, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				ms := rapid.IntRange(1, 5000)
				var want []observed.Request
				for range rapid.IntRange(1, 8).Draw(t, "requests") {
					ttft := float64(ms.Draw(t, "ttft")) / 1000
					want = append(want, observed.Request{Arrival: float64(ms.Draw(t, "at")),
						Prompt: ms.Draw(t, "prompt"), Output: rapid.IntRange(2, 99).Draw(t,
							"output"),
						TTFT: ttft, E2E: ttft + float64(ms.Draw(t, "rest"))/1000})
				}
				least := want[0].Arrival
				for _, q := range want {
					least = min(least, q.Arrival)
				}
				if strings.HasPrefix(client, "csv") {
					least = 0
				}
				o, err := formats.Parse("file", []byte(write(t, 2e6, want)), formats.Options{})
				testkit.OK(t, err)
				got := o.Runs[0].Requests
				slices.SortStableFunc(want, func(a, b observed.Request) int {
					return int(a.Arrival - b.Arrival)
				})
				if len(o.Runs) != 1 || len(got) != len(want) {
					t.Fatalf("%d requests in %d runs, want %d", len(got), len(o.Runs), len(want))
				}
				for i, q := range want {
					g := &got[i]
					if math.Abs(g.Arrival-(q.Arrival-least)) > 1e-6 || g.Prompt != q.Prompt ||
						g.Output != q.Output || math.Abs(g.TTFT-q.TTFT) > 1e-6 ||
						math.Abs(g.E2E-q.E2E) > 1e-6 || g.Failed {
						t.Errorf("request %d is %+v, want %+v, the first at %g", i, *g, q, least)
					}
				}
			})
		})
	}
}

// Each figure of a summary is read as what it is, in seconds.
func TestFiguresOfAllClients(t *testing.T) {
	figure := func(key string) float64 { // each its own
		return float64(100 + slices.Index([]string{"mean ttft", "p50 ttft", "p99 ttft", "mean tpot",
			"p50 tpot", "p99 tpot", "mean e2e", "p50 e2e", "p99 e2e"}, key))
	}
	want := observed.Figures{TTFT: 100, TTFT50: 101, TTFT99: 102, TPOT: 103, TPOT50: 104,
		TPOT99: 105,
		E2E:    106, E2E50: 107, E2E99: 108, OutputRate: 7}
	flat := func(scale float64, o dict, mean, median, p99, end string, names ...string) dict {
		for i, name := range names {
			which := []string{"ttft", "tpot", "e2e"}[i]
			o[mean+"_"+name+end] = scale * figure("mean "+which)
			o[median+"_"+name+end] = scale * figure("p50 "+which)
			o[p99+"_"+name+end] = scale * figure("p99 "+which)
		}
		o["output_throughput"], o["completed"], o["duration"] = 7, 5, 10
		o["total_input_tokens"], o["total_output_tokens"], o["request_rate"] = 50, 20, 0.5
		o["request_throughput"] = 0.5
		return o
	}
	nested := func(scale float64, mean, median string, units string, names ...string) dict {
		o := dict{}
		for i, name := range names {
			which := []string{"ttft", "tpot", "e2e"}[i]
			o[name] = dict{mean: scale * figure("mean "+which),
				median: scale * figure("p50 "+which),
				"p99":  scale * figure("p99 "+which), "unit": units, "units": units}
		}
		return o
	}
	const ttft, tpot, e2e = "time_to_first_token", "inter_token_latency", "request_latency"
	aiperf := nested(1e3, "avg", "p50", "ms", ttft, tpot, e2e)
	aiperf["output_token_throughput"] = dict{"avg": 7, "unit": "tokens/sec"}
	aiperf["request_throughput"] = dict{"avg": 0.5, "unit": "requests/sec"}
	aiperf["request_count"], aiperf["input_sequence_length"] = dict{"avg": 5}, dict{"avg": 10}
	aiperf["output_sequence_length"] = dict{"avg": 4}
	guide := dict{}
	for name, which := range map[string]string{"time_to_first_token_ms": "ttft",
		"inter_token_latency_ms": "tpot", "request_latency": "e2e"} {
		scale := 1e3
		if which == "e2e" {
			scale = 1
		}
		guide[name] = dict{"successful": dict{"mean": scale * figure("mean "+which),
			"median":      scale * figure("p50 "+which),
			"percentiles": dict{"p99": scale * figure("p99 "+which)}}}
	}
	guide["output_tokens_per_second"] = dict{"successful": dict{"mean": 7}}
	guide["request_totals"] = dict{"successful": 5}
	guide["prompt_token_count"] = dict{"successful": dict{"total_sum": 50, "count": 5}}
	guide["output_token_count"] = dict{"successful": dict{"mean": 4}}
	report := dict{"version": "0.2", "scenario": dict{},
		"results": dict{"request_performance": dict{
			"aggregate": dict{"latency": nested(1e3, "mean", "p50", "ms", ttft,
				"time_per_output_token",
				e2e),
				"time": dict{"duration": 10}, "throughput": dict{"request_rate": dict{"mean": 0.5}},
				"requests": dict{"total": 7, "failures": 2, "input_length": dict{"mean": 10},
					"output_length": dict{"mean": 4}}}}}}
	yaml := func(o dict) string {
		var b strings.Builder
		for key, value := range o {
			data, err := json.Marshal(value) // JSON is YAML
			testkit.OK(t, err)
			fmt.Fprintf(&b, "%s: %s\n", key, data)
		}
		return b.String()
	}
	bench := func(o dict) dict { o["model_id"], o["tokenizer_id"] = "m", "m"; return o }
	for name, o := range map[string]any{
		"vllm bench": bench(flat(1e3, dict{"backend": "vllm"}, "mean", "median", "p99", "_ms",
			"ttft", "tpot",
			"e2el")),
		"InferenceX": bench(flat(1, dict{}, "mean", "median", "p99", "", "ttft", "tpot", "e2el")),
		"sglang": flat(1e3, dict{"backend": "sglang"}, "mean", "median", "p99", "_ms", "ttft",
			"tpot",
			"e2e_latency"),
		"llmsim load": flat(1e3, dict{"model": "m", "mean_send_delay_ms": 0}, "mean", "median",
			"p99",
			"_ms", "ttft", "tpot", "e2el"),
		"aiperf": aiperf, "report": yaml(report),
		"guidellm": dict{"metadata": dict{"version": 2}, "benchmarks": []dict{{"duration": 10,
			"config": dict{"strategy": dict{"type_": "constant", "rate": 0.5}}, "metrics": guide}}},
	} {
		text, is := o.(string)
		if !is {
			data, err := json.Marshal(o)
			testkit.OK(t, err)
			text = string(data)
		}
		got, err := formats.Parse(name, []byte(text), formats.Options{})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		r, figures := &got.Runs[0], want
		if engine := map[string]string{"vllm bench": "vllm", "sglang": "sglang"}[name]; engine !=
			got.Server.Engine {
			t.Errorf("%s: the engine is %q, want %q", name, got.Server.Engine, engine)
		}
		if name == "report" { // has no rate of tokens
			figures.OutputRate = 0
		}
		if r.Summary != figures {
			t.Errorf("%s: %+v, want %+v", name, r.Summary, figures)
		}
		if l := r.Load; l.Rate != 0.5 || l.Requests != 5 || l.Prompt != 10 || l.Output != 4 {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// Counters of a server grow by what happened between two pages, whatever engine has them, and
// whether a file has a page or Prometheus has the series. The intervals add up to the run, and an
// interval in which a counter fell is left out.
func TestCountersGrow(t *testing.T) {
	names := map[string]map[string]string{
		"vllm": {"prompt": "vllm:prompt_tokens_total", "output": "vllm:generation_tokens_total",
			"cached": "vllm:prefix_cache_hits_total", "ttft": "vllm:time_to_first_token_seconds",
			"tpot": "vllm:inter_token_latency_seconds", "e2e": "vllm:e2e_request_latency_seconds",
			"running": "vllm:num_requests_running", "waiting": "vllm:num_requests_waiting"},
		"sglang": {"prompt": "sglang:prompt_tokens_total",
			"output": "sglang:generation_tokens_total",
			"cached": "sglang:cached_tokens_total", "ttft": "sglang:time_to_first_token_seconds",
			"tpot":    "sglang:time_per_output_token_seconds",
			"e2e":     "sglang:e2e_request_latency_seconds",
			"running": "sglang:num_running_reqs", "waiting": "sglang:num_queue_reqs"}}
	for engine, of := range names {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(2, 5).Draw(t, "pages")
			fell := rapid.IntRange(1, 2*n).Draw(t, "starts anew")
			count, values := rapid.IntRange(1, 20), map[string]float64{}
			var pages []formats.Page
			series := map[string][][]any{}
			var want observed.Interval
			intervals := 0
			for i := range n {
				before := values["output"]
				if i == fell {
					clear(values)
				}
				for _, key := range []string{"prompt", "output", "cached", "ttft_sum", "tpot_sum",
					"e2e_sum"} {
					grown := 2 * float64(count.Draw(t, key)) // two engines have half each
					if values[key] += grown; i > 0 && i != fell {
						switch key {
						case "prompt":
							want.PromptTokens += grown
						case "output":
							want.OutputTokens += grown
						case "cached":
							want.CachedTokens += grown
						case "ttft_sum":
							want.TTFT += grown
						case "e2e_sum":
							want.E2E += grown
						}
					}
				}
				requests := 2 * float64(count.Draw(t, "requests"))
				values["ttft_count"] += requests
				values["tpot_count"], values["e2e_count"] = values["output"], values["ttft_count"]
				if i == fell && values["output"] >= before { // it must be seen to fall
					values["output"] = before - 2
					values["tpot_count"] = values["output"]
				}
				if i > 0 && i != fell {
					want.Requests += requests
					want.Seconds += 10
					intervals++
				}
				values["running"], values["waiting"] = float64(i), float64(2*i)
				var text strings.Builder
				for key, name := range of {
					kind, lines := "counter", []string{""}
					switch key {
					case "running", "waiting":
						kind = "gauge"
					case "ttft", "tpot", "e2e":
						kind, lines = "histogram", []string{"_sum", "_count"}
					}
					fmt.Fprintf(&text, "# TYPE %s %s\n", name, kind)
					for _, end := range lines {
						fmt.Fprintf(&text, "%s%s{engine=\"0\"} %g\n%s%s{engine=\"1\"} %g\n", name,
							end,
							values[key+end]/2, name, end, values[key+end]/2)
						series[name+end] = append(series[name+end], []any{1000 + 10*i,
							fmt.Sprint(values[key+end])})
					}
				}
				pages = append(pages, formats.Page{At: float64(1000 + 10*i),
					Text: []byte(text.String())})
			}
			var result []dict
			for name, list := range series {
				result = append(result, dict{"metric": dict{"__name__": name}, "values": list})
			}
			api := asJSON(t, dict{"status": "success", "data": dict{"resultType": "matrix",
				"result": result}})
			joined, err := formats.Join("server", pages)
			testkit.OK(t, err)
			asked, err := formats.Parse("server", []byte(api), formats.Options{})
			testkit.OK(t, err)
			for _, o := range []*observed.Observed{joined, asked} {
				if o.Server.Engine != engine || (len(o.Runs) == 1) != (intervals > 0) {
					t.Fatalf("%+v", o)
				}
				if intervals == 0 {
					continue
				}
				r := &o.Runs[0]
				var sum observed.Interval
				for i := range r.Intervals {
					v := &r.Intervals[i]
					sum.Requests, sum.Seconds = sum.Requests+v.Requests, sum.Seconds+v.Seconds
					sum.PromptTokens, sum.OutputTokens = sum.PromptTokens+v.PromptTokens,
						sum.OutputTokens+v.OutputTokens
					sum.CachedTokens += v.CachedTokens
					sum.TTFT, sum.E2E = sum.TTFT+v.TTFT*v.Requests, sum.E2E+v.E2E*v.Requests
					if v.Running != v.At/10+1 || v.Waiting != 2*v.Running {
						t.Errorf("%+v", *v)
					}
				}
				near := func(what string, got, want float64) {
					if math.Abs(got-want) > 1e-9*(1+want) {
						t.Errorf("%s: %g, want %g", what, got, want)
					}
				}
				near("intervals", float64(len(r.Intervals)), float64(intervals))
				near("requests", sum.Requests, want.Requests)
				near("seconds", r.Load.Seconds, want.Seconds)
				near("prompts", sum.PromptTokens, want.PromptTokens)
				near("answers", sum.OutputTokens, want.OutputTokens)
				near("cached", sum.CachedTokens, want.CachedTokens)
				near("TTFT", sum.TTFT, want.TTFT)
				near("E2E", sum.E2E, want.E2E)
				near("rate", r.Load.Rate*want.Seconds, want.Requests)
				near("mean prompt", r.Load.Prompt*want.Requests, want.PromptTokens)
				near("mean answer", r.Load.Output*want.Requests, want.OutputTokens)
				near("mean cached", r.Load.Cached*want.Requests, want.CachedTokens)
				near("mean TTFT", r.Summary.TTFT*want.Requests, want.TTFT)
				near("mean E2E", r.Summary.E2E*want.Requests, want.E2E)
				near("rate of tokens", r.Summary.OutputRate*want.Seconds, want.OutputTokens)
			}
		})
	}
}

// Steps and rates of logs are read as they are written; idle steps and hand-overs are left out.
func TestStepsOfLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 999)
		var iterations, records, rates strings.Builder
		var want []observed.Step
		minute := 0
		for i := range rapid.IntRange(4, 12).Draw(t, "steps") {
			s := observed.Step{Prefills: count.Draw(t, "prefills"), PrefillTokens: count.Draw(t,
				"tokens"),
				Decodes: count.Draw(t, "decodes"), Seconds: float64(count.Draw(t, "ms")+1) / 1000}
			dummy := ""
			if rapid.IntRange(0, 4).Draw(t, "dummy") == 4 {
				dummy = " (dummy)"
			}
			fmt.Fprintf(&iterations,
				"Iteration(%d): %d context requests, %d context tokens, %d generation "+
					"requests, %d generation tokens, iteration elapsed time: %g ms%s\n", i,
				s.Prefills,
				s.PrefillTokens, s.Decodes, s.Decodes, s.Seconds*1000, dummy)
			kv := count.Draw(t, "kv")
			wall := s.Seconds
			if dummy != "" {
				wall = 0
			}
			fmt.Fprintln(&records, asJSON(t, dict{"event": dict{"schema": "dynamo.fpm.trace.v1",
				"fpm": dict{"version": 1, "wall_time": wall, "scheduled_requests": dict{
					"num_prefill_requests": s.Prefills, "sum_prefill_tokens": s.PrefillTokens,
					"num_decode_requests": s.Decodes, "sum_decode_kv_tokens": kv,
					"sum_prefill_kv_tokens": s.PrefillTokens}}}}))
			if dummy == "" && s.PrefillTokens+s.Decodes > 0 {
				s.DecodeKV = kv
				want = append(want, s)
			}
			fmt.Fprintf(&rates,
				"INFO 08-01 12:%02d:%02d Engine 000: Avg prompt throughput: %d tokens/s, Avg "+
					"generation throughput: %d tokens/s, Running: %d reqs, Waiting: %d reqs\n",
				minute, i, i, 2*i, 3*i, 4*i)
			minute += rapid.IntRange(1, 2).Draw(t, "minutes")
		}
		read := func(text string) *observed.Run {
			o, err := formats.Parse("file", []byte(text), formats.Options{})
			testkit.OK(t, err)
			return &o.Runs[0]
		}
		got, fpm := read(iterations.String()).Steps, read(records.String()).Steps
		for i, s := range want {
			s.DecodeKV = 0
			if len(got) != len(want) || math.Abs(got[i].Seconds-s.Seconds) > 1e-9 ||
				got[i].Prefills != s.Prefills || got[i].PrefillTokens != s.PrefillTokens ||
				got[i].Decodes != s.Decodes {
				t.Fatalf("step %d is %+v, want %+v", i, got, want)
			}
		}
		for _, s := range fpm {
			if s.PrefillKV != 0 || s.Seconds == 0 {
				t.Errorf("%+v", s)
			}
		}
		for i, v := range read(rates.String()).Intervals {
			if v.PromptTokens != float64(i)*v.Seconds || v.OutputTokens != 2*v.PromptTokens ||
				v.Running != float64(3*i) || v.Waiting != float64(4*i) || v.Seconds != 10 ||
				math.Mod(v.At, 60) != float64(i) || (i == 0) != (v.At == 0) {
				t.Errorf("interval %d is %+v", i, v)
			}
		}
	})
}
