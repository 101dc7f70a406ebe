package formats_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// told is a run as a console shows it: times in seconds.
type told struct {
	ttft, tpot, e2e, rate, prompt, output float64
	requests                              int
}

// consoles print a run as programs do. Those without a figure leave it out of what is compared.
func consoles() map[string]func(r told) string {
	const guideHead = "Benchmarks Stats:\n=====\n" +
		"Metadata     | Request Stats         || Out Tok/sec| Tot Tok/sec| Req Latency (ms)||| " +
		"TTFT (ms)    ||| ITL (ms)     ||| TPOT (ms)       ||\n" +
		"    Benchmark| Per Second| Concurrency|  mean|  mean| mean| median|  " +
		"p99| mean| median|  p99" +
		"| mean| median|  p99| mean| median|  p99\n-----|-----\n"
	const guideInfo = "Benchmarks Info:\n=====\n" +
		"Metadata |||| Requests Made ||| Prompt Tok/Req ||| Output Tok/Req ||| " +
		"Prompt Tok Total||| " +
		"Output Tok Total||\n  Benchmark| Start Time| End Time| Duration (s)| " +
		"Comp| Inc| Err| Comp| " +
		"Inc| Err| Comp| Inc| Err| Comp| Inc| Err| Comp| Inc| Err\n-----|----\n"
	return map[string]func(r told) string{
		"guidellm-console": func(r told) string {
			return fmt.Sprintf("%s concurrent@3| 1:00| 2:00| 60.0| %d| 0| 0| "+
				"%.6f| 0| 0| %.6f| 0| 0|"+
				" 1| 0| 0| 1| 0| 0\n=====\n\n", guideInfo, r.requests, r.prompt, r.output) +
				fmt.Sprintf("%s concurrent@3| 1.0| 3.0| %.6f| 9| %.6f| 1| 1| %.6f| "+
					"1| 1| %.6f| 1| 1| 7| "+
					"7| 7\n=====\n", guideHead, r.rate, r.e2e, 1000*r.ttft, 1000*r.tpot)
		},
		"aiperf-console": func(r told) string {
			row := func(name, unit string, v float64) string {
				return fmt.Sprintf("│ %s │ %.6f │ 1.00 │\n│ (%s) │ │ │\n", name, v, unit)
			}
			return "NVIDIA AIPerf | LLM Metrics\n┏━━┳━━┓\n┃ Metric ┃ avg ┃ min ┃\n┡━━╇━━┩\n" +
				row("Time to First Token", "ms", 1000*r.ttft) +
				row("Inter Token Latency", "ms", 1000*r.tpot) +
				row("Request Latency", "ms", 1000*r.e2e) +
				row("Input Sequence Length", "tokens", r.prompt) +
				row("Output Sequence Length", "tokens", r.output) +
				row("Output Token Throughput", "tokens/sec", r.rate) +
				row("Request Count", "requests", float64(r.requests)) + "└──┴──┘\n"
		},
		"trtllm-overview": func(r told) string {
			each := r.rate / r.output
			return fmt.Sprintf("= PERFORMANCE OVERVIEW\nRequest Throughput "+
				"(req/sec): %.9f\nTotal Output "+
				"Throughput (tokens/sec): %.9f\nTotal Token Throughput (tokens/sec): %.9f\nTotal "+
				"Latency (ms): %.6f\nAverage request latency (ms): %.6f\nAverage "+
				"time-to-first-token "+
				"[TTFT] (ms): %.6f\nAverage time-per-output-token [TPOT] (ms): %.6f\n",
				each, r.rate, r.rate+each*r.prompt, 1000*float64(r.requests)/each,
				1000*r.e2e, 1000*r.ttft, 1000*r.tpot)
		},
		"llmperf-console": func(r told) string {
			var b strings.Builder
			for _, one := range []struct {
				name string
				mean float64
			}{{"inter_token_latency_s", r.tpot}, {"ttft_s", r.ttft},
				{"end_to_end_latency_s", r.e2e}, {"number_input_tokens", r.prompt},
				{"number_output_tokens", r.output}} {
				fmt.Fprintf(&b, "%s\n    p50 = 1\n    mean = %.9f\n    stddev = 1\n", one.name,
					one.mean)
			}
			fmt.Fprintf(&b, "Overall Output Throughput: %.9f\nNumber Of Completed Requests: %d\n"+
				"Completed Requests Per Minute: 60.0\n", r.rate, r.requests)
			return b.String()
		},
		"table": func(r told) string {
			return "| users | isl | **OSL** | TTFT (ms) | Mean ITL | e2e latency (s) | " +
				"Output tok/s |\n|---|---:|:-:|---|---|---|---|\n" +
				fmt.Sprintf("| %d | %.6f | %.6f | **%.6f** | "+
					"%.9f s | %.9f | %.6f |\n", r.requests, r.prompt, r.output, 1000*r.ttft, r.tpot,
					r.e2e, r.rate)
		},
		"printed-table": func(r told) string {
			n := float64(r.requests)
			return fmt.Sprintf("Successful requests: %d\nTotal input tokens: "+
				"%.6f\nTotal generated "+
				"tokens: %.6f\nMean TTFT (ms): %.6f\nTPOT: %.6f ms\nAvg E2E "+
				"(s): %.9f\nOutput token "+
				"throughput (tok/s): %.6f\n", r.requests, r.prompt*n, r.output*n, 1000*r.ttft,
				1000*r.tpot, r.e2e, r.rate)
		},
	}
}

// fixtures of formats that are printed for people; none has a text of a prompt.
func consoleFixtures() []fixture {
	r := told{0.1, 0.02, 2, 300, 500, 96, 40}
	var list []fixture
	for format, text := range consoles() {
		if format != "printed-table" { // has one already
			list = append(list, fixture{name: format + ".txt", format: format, runs: 1,
				text: text(r)})
		}
	}
	return append(list,
		fixture{name: "server.log", format: "llama-timings", runs: 1, text: `slot print_timing: id  3
prompt eval time =     393.25 ms /    13 tokens (   30.25 ms per token,    33.06 tokens per second)
       eval time =    9840.04 ms /   200 tokens (   49.20 ms per token,    20.33 tokens per second)`},
		fixture{name: "throughput.txt", format: "throughput-line", runs: 1,
			text: "Throughput: 2.00 requests/s, 1200.00 total tokens/s, 200.00 output tokens/s\n"})
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-5*want }

// What a console shows is what is read, also among words and beside another console.
func TestConsolesAreReadAsTheyWerePrinted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for format, text := range consoles() {
		for range 20 {
			r := told{0.01 + random.Float64(), 0.001 + random.Float64()/20, 0,
				10 + 5000*random.Float64(), float64(1 + random.IntN(4000)),
				float64(2 + random.IntN(900)), 1 + random.IntN(900)}
			r.e2e = r.ttft + r.tpot*(r.output-1)
			among := "I measured 3 things:\n\n" + text(r) + "\n\nIs it 2 times too slow?\n"
			parts := formats.Parts(strings.Split(among, "\n"))
			if len(parts) != 1 || parts[0].Format != format {
				t.Fatalf("%s: found %+v in\n%s", format, parts, among)
			}
			words := strings.Split(among, "\n")
			if slices.ContainsFunc(parts[0].Lines, func(i int) bool {
				return strings.Contains(words[i], "measured") || strings.Contains(words[i], "slow")
			}) {
				t.Errorf("%s: lines %v are taken of\n%s", format, parts[0].Lines, among)
			}
			o, err := formats.Parse("x", []byte(text(r)), formats.Options{Format: format})
			testkit.OK(t, err)
			f, l := o.Runs[0].Summary, o.Runs[0].Load
			for _, pair := range [][2]float64{{f.TTFT, r.ttft}, {f.TPOT, r.tpot}, {f.E2E, r.e2e},
				{f.OutputRate, r.rate}, {l.Prompt, r.prompt}, {l.Output, r.output},
				{float64(cmp.Or(l.Requests, l.Concurrency)), float64(r.requests)}} {
				if !near(pair[0], pair[1]) {
					t.Fatalf("%s: read %+v with %+v, want %+v of\n%s", format, f, l, r, text(r))
				}
			}
		}
	}
}

// Times of single requests are means over the requests, and rates are those of tokens over times.
func TestTimingsAreMeans(t *testing.T) {
	const one = "prompt eval time = %d.00 ms / %d tokens (1 ms per token)\n" +
		"       eval time = %d.00 ms / %d tokens (1 ms per token)\n"
	text := fmt.Sprintf(one, 100, 50, 2000, 100) + fmt.Sprintf(one, 300, 150, 6000, 100)
	o, err := formats.Parse("x", []byte(text), formats.Options{})
	testkit.OK(t, err)
	want := observed.Run{Load: observed.Load{Concurrency: 1, Requests: 2, Prompt: 100, Output: 100},
		Summary: observed.Figures{TTFT: 0.2, TPOT: 0.04}}
	if got := o.Runs[0]; got.Load != want.Load || !near(got.Summary.TTFT, want.Summary.TTFT) ||
		!near(got.Summary.TPOT, want.Summary.TPOT) {
		t.Errorf("%+v, want %+v", got, want)
	}
	ollama := "prompt eval count:    26 token(s)\nprompt eval rate:     200.00 tokens/s\n" +
		"eval count:           298 token(s)\neval rate:            8.00 tokens/s\n"
	o, err = formats.Parse("x", []byte(ollama), formats.Options{})
	testkit.OK(t, err)
	if got := o.Runs[0]; !near(got.Summary.TPOT, 1/8.0) || !near(got.Summary.TTFT, 0.13) {
		t.Errorf("%+v", got)
	}
}

// A table whose lines were broken, or that lacks what is read, is refused with what to do.
func TestConsolesThatAreNotWhole(t *testing.T) {
	r := told{0.1, 0.02, 2, 300, 500, 96, 40}
	guide := consoles()["guidellm-console"](r)
	for text, word := range map[string]string{
		strings.Replace(guide, "| 1.0| 3.0|", "| 1.0\n| 3.0|", 1): "benchmarks.json",
		guide[:strings.Index(guide, "Benchmarks Stats")]:          "benchmarks.json",
		"= PERFORMANCE OVERVIEW\nTotal Latency (ms): 3\n":         "--report_json",
		"ttft_s\n    p17 = 3\n":                                   "JSON",
		"| users | TTFT |\n|---|---|\n| 1 | 2 |\n":                "ttft (ms)",
		"| users | TPOT (ms) |\n|---|---|\n| 1 | – |\n":           "columns such as",
		"Throughput: 2.00 requests/s, 1200.00 tokens/s\n":         "output tokens/s",
		"prompt eval time = 3.00 ms / 5 tokens\n":                 "whole request",
	} {
		_, err := formats.Parse("x", []byte(text), formats.Options{})
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: the error is %v, want one with %q", text, err, word)
		}
	}
}
