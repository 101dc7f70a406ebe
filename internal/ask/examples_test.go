package ask

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// named are the examples of ../shared of which nothing is read, with a word of what to do.
func named() map[string]string {
	return map[string]string{
		"start_commands.jsonl":                           "no known format",
		"start_commands.labels.json":                     "no known format",
		"aiperf_mt.jsonl":                                "workload.trace",
		"fpm_trace_constructed.jsonl.gz":                 "gzip",
		"fpm_zmq_frames_constructed.hex":                 "ZMQ",
		"trtllm_serve_metrics_iteration_stats.json":      "iterLatencyMS",
		"otel_genai_spans__simple_chain.json":            "recorded session",
		"vllm_bench_serve_recent_all_failed.json":        "no request",
		"inference_perf_stage_0_prometheus_metrics.json": "load is not known",
		"inference_perf_stage_6_prometheus_metrics.json": "load is not known",
	}
}

// Every example of what people paste is read, or named with what to do; what lacks a server or an
// accelerator is refused with both asked for at once.
func TestEveryExample(t *testing.T) {
	seen := 0
	for _, folder := range []string{"pasted", "formats"} {
		err := filepath.WalkDir(testkit.Shared(t, folder), func(path string, entry fs.DirEntry,
			err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".md") &&
				entry.Name() != "llamabench.md" {
				return err
			}
			seen++
			text := string(testkit.Read(t, path))
			name := entry.Name()
			_, alone := Read(text, Options{})
			if alone != nil && !strings.Contains(alone.Error(), "--gpu") &&
				!strings.Contains(alone.Error(), "--server") && name[len(name)-3:] != ".gz" {
				t.Errorf("%s: the error is %v, want one with --gpu or --server", name,
					alone)
			}
			p, err := Read(text, Options{GPU: "h100-sxm",
				Server: "vllm serve meta-llama/Llama-3.1-8B-Instruct"})
			said := fmt.Sprint(err)
			if err == nil {
				said = strings.Join(p.Unread, " ")
			}
			word, isNamed := named()[name]
			if strings.HasPrefix(name, "metrics_") { // single pages
				word, isNamed = "llmsim twin observe", true
			}
			switch {
			case isNamed && !strings.Contains(said, word):
				t.Errorf("%s: it is said %q, want %q", name, said, word)
			case !isNamed && (err != nil || len(p.Unread) > 0 || len(p.Runs) == 0):
				t.Errorf("%s: not read: %v, %q", name, err, said)
			}
			t.Logf("| %s | %v | %s |", name, p != nil && len(p.Runs) > 0, said)
			return nil
		})
		testkit.OK(t, err)
	}
	if seen < 50 {
		t.Errorf("found %d examples, want 50 or more", seen)
	}
}

// The headings that are named beside a thread are those of its matter.
func TestNearestPages(t *testing.T) {
	for name, want := range map[string]string{"01_vllm_queue": "--max-num-seqs",
		"02_sglang_pcie": "Tensor parallelism over PCIe", "03_llamabench_4090": "",
		"05_oom":      "The server refuses a long context",
		"06_kv_log":   "SGLang's KV cache is larger than vLLM's",
		"07_pd":       "Prefill and decode apart are slower",
		"10_manifest": "How many GPUs do 200 users need?"} {
		p, err := Read(thread(t, "threads/"+name+".txt"), Options{})
		testkit.OK(t, err)
		got := strings.Join(nearest(p.Prose), "; ")
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q first", name, got, want)
		}
	}
}

// Lines that look like results are read or listed, whatever stands around them; words are not.
func TestNothingIsIgnored(t *testing.T) {
	const head = "L40S\nvllm serve Qwen/Qwen3-8B\n\n"
	for text, want := range map[string]string{
		"Avg latency: 1.234 seconds":                             "Avg latency",
		"| gpu | W | C |\n| 0 | 300 | 55 |":                      "| 0 | 300",
		"{'mean_x': 12.0, 'y': 3}":                               "{'mean_x'",
		"{\"mean_x\": 12.0}":                                     "no known format",
		"a,b,c\n1,60,20":                                         "1,60,20",
		"12:00:01 Prefill batch. #new-seq: 4, #new-token: 4096,": "Prefill batch",
		"step time: 13 ms\n\nI see 40 tok/s.":                    "step time",
		"We have 8 users and 3 models in 2 places.":              "",
		"Version 0.19.0, on 2 nodes: what now?":                  "",
		"TPOT: 40 ms":                                            "",
	} {
		for _, around := range []string{"%s", "```\n%s\n```", "Hello.\n\n%s\n\nBye."} {
			p, err := Read(head+fmt.Sprintf(around, text), Options{})
			testkit.OK(t, err)
			got := strings.Join(p.Unread, "; ")
			if around == "%s" && want != "" && !strings.HasPrefix(got, "line 4") &&
				!strings.HasPrefix(got, "lines 4–5") {
				t.Errorf("%q: not read are %q, want line 4", text, got)
			}
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%q in %q: not read are %q, want %q", text, around, got, want)
			}
		}
	}
}

// A server that its memory does not hold is an answer: what would fit.
func TestServerThatDoesNotStart(t *testing.T) {
	a := ask(t, thread(t, "threads/05_oom.txt"), Options{})
	said := strings.Join(a.Binds, " ")
	if !strings.Contains(said, "does not start") || !strings.Contains(said, "would fit") ||
		a.Scenario() != nil || len(a.Unread) > 0 {
		t.Errorf("%+v", a)
	}
	fits := ask(t, thread(t, "threads/05_oom.txt"), Options{GPU: "h100-sxm"})
	if said := strings.Join(fits.Doubts, " "); !strings.Contains(said, "memory ran out") {
		t.Errorf("doubts %q, want that the plan fits", said)
	}
}
