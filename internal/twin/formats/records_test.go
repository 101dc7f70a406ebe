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

// record is a format with records that are read, n each its own, and with ones that are left out.
type record struct {
	good func(n int) any
	bad  []any
	// note is what a file says of the ones that are left out, and found of the others.
	note, found string
}

// records lists formats with a record a line.
func records() map[string]record {
	response := func(tokens int, ms float64) dict {
		return dict{"created": 1785585600, "usage": dict{"prompt_tokens": 4,
			"completion_tokens": tokens}, "metrics": dict{"time_to_first_token_ms": ms,
			"generation_time_ms": 5}}
	}
	aiperf := func(n, tokens int) dict {
		return dict{"metadata": dict{"request_start_ns": 1785585600258489000 + n},
			"metrics": dict{"input_sequence_length": dict{"value": 5},
				"output_sequence_length": dict{"value": tokens},
				"time_to_first_token":    dict{"value": 50, "unit": "ms"},
				"request_latency":        dict{"value": 90, "unit": "ms"}}}
	}
	cancelled, refused := aiperf(7, 4), aiperf(8, 0)
	cancelled["metadata"].(dict)["was_cancelled"] = true
	refused["error"] = dict{"code": 499}
	step := func(wall float64) dict {
		return dict{"schema": "dynamo.fpm.trace.v1", "event": dict{"fpm": dict{"wall_time": wall,
			"scheduled_requests": dict{"num_decode_requests": 3}}}}
	}
	iteration := func(decodes int, ms, end string) string {
		return fmt.Sprintf("Iteration(1): 0 context requests, 0 context tokens, %d generation "+
			"requests, 9 generation tokens, iteration elapsed time: %s ms%s", decodes, ms, end)
	}
	perf := func(n int, tokens int, failed any) dict {
		return dict{"start_time": 5 + n, "end_time": 6 + n, "request": "r", "error": failed,
			"info": dict{"response_metrics": dict{"output_tokens": tokens,
				"chunk_times": []float64{5.5 + float64(n)}}}}
	}
	return map[string]record{
		"vllm-responses": {func(int) any { return response(3, 8) }, []any{response(3, 0),
			dict{"usage": dict{"completion_tokens": 3}, "metrics": dict{
				"time_to_first_token_ms": 8}}}, "%d answers have no metrics or no prompt",
			"%d requests"},
		// What ended without a token is part of the load.
		"aiperf": {func(n int) any { return aiperf(n, 4*(n%2)) }, []any{cancelled, refused},
			"%d of %[2]d requests failed or were cancelled", "%[2]d requests"},
		"inference-perf-requests": {func(n int) any { return perf(n, 3, nil) }, []any{
			perf(0, 3, dict{})}, "%d of %[2]d requests failed",
			"%[2]d requests"},
		"fpm": {func(int) any { return step(0.02) }, []any{step(0)}, "", "%d steps, %[3]d idle"},
		"vllm-iterations": {func(n int) any { return iteration(1, "0.2", "") }, []any{
			iteration(1, "9", " (dummy)"), iteration(0, "9", "")}, "", "%d steps, %[3]d dummy"},
	}
}

// Each record of a file is read, or left out with the number of them, whatever order they have.
func TestEachRecordIsReadOrCounted(t *testing.T) {
	for format, of := range records() {
		rapid.Check(t, func(t *rapid.T) {
			good := rapid.IntRange(1, 6).Draw(t, "good")
			bad := rapid.SliceOfN(rapid.SampledFrom(of.bad), 0, 6).Draw(t, "bad")
			var list []any
			for n := range good {
				list = append(list, of.good(n))
			}
			list = rapid.Permutation(append(list, bad...)).Draw(t, "order")
			var text strings.Builder
			for _, one := range list {
				line, is := one.(string)
				if !is {
					line = asJSON(t, one)
				}
				text.WriteString(line + "\n")
			}
			o, err := formats.Parse("f", []byte(text.String()), formats.Options{Format: format})
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			left := 0
			for _, q := range o.Runs[0].Requests {
				if q.Failed {
					left++
				}
			}
			if read := len(o.Runs[0].Requests) - left + len(o.Runs[0].Steps); read != good {
				t.Fatalf("%s: %d of %d are read in\n%s", format, read, good, text.String())
			}
			says := func(form string, n int) string {
				text := fmt.Sprintf(form, n, len(list), len(bad))
				text, _, _ = strings.Cut(text, "%!(EXTRA")
				return text
			}
			if found := o.Sources[0].Found; !strings.HasPrefix(found, says(of.found, good)) {
				t.Fatalf("%s: found %q, want %q", format, found, says(of.found, good))
			}
			if notes := fmt.Sprint(o.Sources[0].Notes); of.note != "" &&
				strings.Contains(notes, says(of.note, len(bad))) != (len(bad) > 0) {
				t.Fatalf("%s: notes %q of %d that are left out", format, notes, len(bad))
			}
		})
	}
}

// What a file says of itself is a note exactly where it is so: ranks that wait for each other,
// samples, tokens that are counted as KV, hand-overs in place of steps, units that are not known,
// spans that are no requests, pages without times.
func TestAFileSaysWhatItIs(t *testing.T) {
	fpm := func(rank, read, kv int, mode string) string {
		return asJSONText(dict{"event": dict{"schema": "dynamo.fpm.trace.v1", "capture_mode": mode,
			"fpm": dict{"version": 1, "wall_time": 0.1, "dp_rank": rank, "scheduled_requests": dict{
				"sum_prefill_tokens": read, "sum_prefill_kv_tokens": kv}}}}) + "\n"
	}
	iteration := func(rank, ms string) string {
		return "(EngineCore_DP" + rank + ") Iteration(1): 1 context requests, 9 context tokens, " +
			"0 generation requests, 0 generation tokens, iteration elapsed time: " + ms + " ms\n"
	}
	span := func(tokens string) string {
		one := dict{"startTimeUnixNano": "5", "attributes": []dict{
			{"key": "gen_ai.usage.output_tokens", "value": dict{"intValue": tokens}},
			{"key": "gen_ai.latency.time_to_first_token", "value": dict{"doubleValue": 0.1}}}}
		return asJSONText(dict{"resourceSpans": []dict{{"scopeSpans": []dict{{
			"spans": []dict{one}}}}}})
	}
	report := func(units string) string {
		return "version: '0.1'\nscenario: {model: {name: m}}\nmetrics:\n  requests: {total: 5}\n" +
			"  latency: {request_latency: {units: " + units + ", mean: 30}}\n"
	}
	gauge := func(name string) string { return "# TYPE " + name + " gauge\n" + name + " 3\n" }
	for _, c := range []struct{ with, without, word string }{
		{fpm(0, 3, 0, "") + fpm(1, 3, 0, ""), fpm(0, 3, 0, "") + fpm(0, 3, 0, ""),
			"2 data-parallel ranks report"},
		{fpm(0, 3, 0, "sampled") + fpm(0, 3, 0, ""), fpm(0, 3, 0, "all"), "the file has samples"},
		{fpm(0, 3, 3, ""), fpm(0, 3, 4, ""), "KV that prompts read equals"},
		{fpm(0, 3, 3, ""), fpm(0, 0, 0, ""), "KV that prompts read equals"},
		{iteration("0", "1") + iteration("1", "1"), iteration("0", "1"),
			"2 data-parallel ranks log"},
		{iteration("0", "0.1"), strings.Repeat(iteration("0", "1"), 4) + iteration("0", "0.1"),
			"1 steps have times under 0.2 ms"},
		{strings.Repeat(iteration("0", "1"), 3) + iteration("0", "0.1"), iteration("0", "0.2"),
			"1 steps have times under 0.2 ms"},
		{span("0") + span("1"), span("1"), "1 spans have no latencies"},
		{span("0"), span("1"), "0 requests"},
		{report("fortnights"), report("ms"), `the unit "fortnights" of request_latency`},
		{gauge("vllm:num_requests_swapped"), gauge("sglang:num_requests_swapped"), "V0 names"},
		{gauge("vllm:gpu_cache_usage_perc"), gauge("vllm:num_requests_running"), "names of 0.8"},
	} {
		for _, text := range []string{c.with, c.without} {
			o, err := formats.Parse("f", []byte(text), formats.Options{})
			if err != nil {
				t.Errorf("%v in\n%s", err, text)
				continue
			}
			if says := fmt.Sprint(o.Sources, o.Lacks); strings.Contains(says, c.word) !=
				(text == c.with) {
				t.Errorf("%q, want %t, of\n%s\n%s", c.word, text == c.with, text, says)
			}
		}
	}
}

// asJSONText writes a value that is made of texts and numbers.
func asJSONText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// The lines of a log are as far apart as their clocks say, if that is less than a minute and they
// are of one engine, and else ten seconds; a day ends at midnight.
func TestClocksOfLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, 86400*20).Draw(t, "start")
		var text strings.Builder
		var want []observed.Interval
		var first int
		last := map[int]int{}
		for i := range rapid.IntRange(1, 6).Draw(t, "lines") {
			engine := rapid.IntRange(0, 1).Draw(t, "engine")
			at += rapid.SampledFrom([]int{1, 10, 59, 60, 90, 40000}).Draw(t, "apart")
			day, second := at/86400, at%86400
			fmt.Fprintf(&text, "INFO 07-%02d %02d:%02d:%02d x Engine %03d: Avg prompt throughput: "+
				"2.5 tokens/s, Avg generation throughput: 4 tokens/s, Running: 1 reqs, Swapped: "+
				"0 reqs, Pending: 2 reqs\n", day+1, second/3600, second/60%60, second%60, engine)
			if i == 0 {
				first = at
			}
			span := 10
			if before, seen := last[engine]; seen && at-before < 60 {
				span = at - before
			}
			last[engine] = at
			want = append(want, observed.Interval{At: float64(at - first),
				Seconds: float64(span), PromptTokens: 2.5 * float64(span),
				OutputTokens: 4 * float64(span), Running: 1, Waiting: 2})
		}
		o, err := formats.Parse("f.log", []byte(text.String()), formats.Options{})
		testkit.OK(t, err)
		if got := o.Runs[0].Intervals; !slices.Equal(got, want) {
			t.Fatalf("%s\nis read as %+v, want %+v", text.String(), got, want)
		}
	})
}

// A summary of Prometheus and a histogram say the same of a latency, a gauge and an untyped number
// the same of a queue; the size of the cache is the one in tokens, or else that of its blocks.
func TestKindsOfMetrics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(1, 90).Draw(t, name) }
		sum, count, queue, blocks, size, tokens := n("sum"), n("count"), n("queue"), n("blocks"),
			n("size"), rapid.IntRange(0, 90).Draw(t, "tokens")
		latency := rapid.SampledFrom([]string{"histogram", "summary"}).Draw(t, "latency")
		gauge := rapid.SampledFrom([]string{"gauge", "untyped"}).Draw(t, "queue's kind")
		page := func(times int) formats.Page {
			return formats.Page{At: 1000 + float64(times), Text: fmt.Appendf(nil,
				"# TYPE vllm:time_to_first_token_seconds %s\n"+
					"vllm:time_to_first_token_seconds_sum{model_name=\"m\"} %d\n"+
					"vllm:time_to_first_token_seconds_count{model_name=\"m\"} %d\n"+
					"# TYPE vllm:num_requests_running %s\nvllm:num_requests_running %d\n"+
					"# TYPE vllm:prompt_tokens_created counter\nvllm:prompt_tokens_created 1\n"+
					"# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{"+
					"num_gpu_blocks=\"%d\",block_size=\"%d\",kv_cache_size_tokens=\"%d\"} 1\n",
				latency, sum*times, count*times, gauge, queue, blocks, size, tokens)}
		}
		o, err := formats.Join("server", []formats.Page{page(1), page(2)})
		testkit.OK(t, err)
		v := o.Runs[0].Intervals[0]
		if tokens == 0 {
			tokens = blocks * size
		}
		if math.Abs(v.TTFT*float64(count)-float64(sum)) > 1e-9 || v.Requests != float64(count) ||
			v.Running != float64(queue) || v.Seconds != 1 || o.Server.Model != "m" ||
			o.Server.CacheTokens != tokens || o.Server.BlockTokens != size {
			t.Fatalf("%+v, %+v of %d s of %d", v, o.Server, sum, count)
		}
	})
}

// Columns are found by their usual names or by the given ones, and times are in the unit at the end
// of the name. A table has requests if it says when they began to be answered, or ended.
func TestColumnsHaveUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"_s", "_ms", "_us", "_ns"}).Draw(t, "unit")
		scale := map[string]float64{"_s": 1, "_ms": 1e3, "_us": 1e6, "_ns": 1e9}[unit]
		mapped := map[string]string{}
		name := func(field, usual string) string {
			if rapid.Bool().Draw(t, "map "+field) {
				mapped[field] = "x" + field
				if field != "prompt" {
					mapped[field] += unit
				}
				return mapped[field]
			}
			if field == "prompt" {
				return usual
			}
			return usual + unit
		}
		n := func(what string) float64 { return float64(rapid.IntRange(1, 99).Draw(t, what)) }
		arrival, prompt, ttft, rest := n("arrival"), n("prompt"), n("ttft"), n("rest")
		columns := []string{name("arrival", "arrival"), name("prompt", "prompt_tokens"),
			"output_tokens"}
		values := []float64{arrival * scale, prompt, 3}
		want := observed.Request{Arrival: arrival, Prompt: int(prompt), Output: 3}
		switch rapid.IntRange(0, 3).Draw(t, "times") {
		case 0:
			columns, values = append(columns, name("ttft", "ttft")), append(values, ttft*scale)
			want.TTFT = ttft
		case 1:
			columns, values = append(columns, name("e2e", "latency")), append(values, ttft*scale)
			want.E2E = ttft
		case 2:
			columns = append(columns, name("first", "first_token"), name("last", "end"))
			values = append(values, (arrival+ttft)*scale, (arrival+ttft+rest)*scale)
			want.TTFT, want.E2E = ttft, ttft+rest
		default:
			columns, values = append(columns, "note"), append(values, 1)
			want.Output = 0
		}
		text := strings.Join(columns, ",") + "\n"
		for i, v := range values {
			text += strings.Repeat(",", min(i, 1)) + fmt.Sprintf(" %.0f ", v)
		}
		o, err := formats.Parse("f.csv", []byte(text+"\n"), formats.Options{Format: "csv",
			Columns: mapped})
		if want.Output == 0 {
			if err == nil || !strings.Contains(err.Error(), "found the columns") {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		testkit.OK(t, err)
		got := o.Runs[0].Requests[0]
		apart := math.Abs(got.Arrival + got.TTFT + got.E2E - want.Arrival - want.TTFT - want.E2E)
		if apart > 1e-6 || got.Prompt != want.Prompt || got.Output != 3 ||
			math.Abs(got.TTFT-want.TTFT) > 1e-6 {
			t.Fatalf("%s by %v is read as %+v, want %+v", text, mapped, got, want)
		}
	})
}

// A table of requests without the lengths of prompts or answers is not one of runs: the error says
// which column is missing. Beside semicolons, a comma stands before decimals, as spreadsheets in
// half of Europe write it.
func TestTablesOfRequests(t *testing.T) {
	parse := func(text string) (*observed.Observed, error) {
		return formats.Parse("f.csv", []byte(text), formats.Options{})
	}
	for text, want := range map[string]string{
		"id,arrival_s,output_tokens,ttft_ms,tpot_ms\n1,0.5,20,50,9\n": "--map prompt=COLUMN",
		"id,sent_s,prompt_tokens,ttft_ms,tpot_ms\n1,0.5,20,50,9\n":    "--map output=COLUMN",
		"arrival_s,prompt_tokens,ttft_ms\n1,20,50\n":                  "tokens of the output",
		"arrival_s,prompt_tokens,output_tokens,ttft_ms\n1,1,1,\"0,5\"": "" +
			"found \"0,5\", want a number",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		request := observed.Request{Arrival: float64(rapid.IntRange(0, 1e6).Draw(t, "ms")) / 1000,
			Prompt: 800, Output: 100, TTFT: float64(rapid.IntRange(1, 1e6).Draw(t, "µs")) / 1e6}
		text := fmt.Sprintf("%.3f;800;100;%.3f", request.Arrival, request.TTFT*1000)
		o, err := parse("arrival_s;prompt_tokens;output_tokens;ttft_ms\n" +
			strings.ReplaceAll(text, ".", ","))
		testkit.OK(t, err)
		got := o.Runs[0].Requests[0]
		if math.Abs(got.TTFT-request.TTFT) > 1e-9 || got.Arrival != request.Arrival {
			t.Fatalf("%s is read as %+v", text, got)
		}
	})
}

// Files that one engine alone writes say which it is.
func TestFilesOfAnEngineNameIt(t *testing.T) {
	for _, f := range fixtures() {
		o, err := formats.Parse(f.name, []byte(f.text), formats.Options{})
		testkit.OK(t, err)
		want := map[string]string{"vllm-iterations": "vllm", "vllm-log": "vllm", "metrics": "vllm",
			"prometheus-api": "vllm", "trtllm-iterations": "trtllm", "sglang-bench": "sglang"}
		if engine, named := want[f.format]; named && o.Server.Engine != engine {
			t.Errorf("%s: the engine is %q", f.name, o.Server.Engine)
		}
	}
}
