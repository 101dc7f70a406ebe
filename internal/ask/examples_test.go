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
