package formats_test

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// refusals are the example files of ../shared/formats that have nothing to read, with a word of the
// reason.
func refusals() map[string]string {
	return map[string]string{
		"fpm_zmq_frames_constructed.hex":      "ZMQ",
		"otel_genai_spans__simple_chain.json": "token counts",
		"README.md":                           "no known format",
		"fields.md":                           "no known format",
	}
}

// Every example file is read, and says what was found, or is refused with a reason.
func TestEveryExampleFile(t *testing.T) {
	root := testkit.Shared(t, "formats")
	seen := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		seen++
		o, err := formats.Read(files.Disk{}, path, formats.Options{})
		if word, refused := refusals()[entry.Name()]; refused {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error is %v, want one with %q", entry.Name(), err, word)
			}
			return nil
		}
		if err != nil {
			t.Errorf("%v", err)
			return nil
		}
		s := &o.Sources[0]
		if s.Found == "" || s.Format == "" {
			t.Errorf("%s: nothing is said of what was found: %+v", entry.Name(), s)
		}
		t.Logf("%-50s %-22s %-24s %s %q lacks %q", entry.Name(), s.Format, s.Version, s.Found,
			s.Notes, o.Lacks)
		return nil
	})
	testkit.OK(t, err)
	if seen < 40 {
		t.Errorf("found %d files, want 40 or more", seen)
	}
}

// The constructed client files describe the same 24 requests, so that readers agree on them.
func TestReadersAgree(t *testing.T) {
	type figures struct{ ttft, tpot, e2e, prompt, output float64 }
	of := func(name string) figures {
		o, err := formats.Read(files.Disk{}, testkit.Shared(t, "formats", name),
			formats.Options{})
		testkit.OK(t, err)
		var f figures
		r := &o.Runs[0]
		if len(r.Requests) == 0 {
			return figures{r.Summary.TTFT, r.Summary.TPOT, r.Summary.E2E, r.Load.Prompt,
				r.Load.Output}
		}
		n := 0.0
		for i := range r.Requests {
			if q := &r.Requests[i]; !q.Failed {
				f.ttft, f.tpot, f.e2e = f.ttft+q.TTFT, f.tpot+q.TPOT(), f.e2e+q.E2E
				f.prompt, f.output = f.prompt+float64(q.Prompt), f.output+float64(q.Output)
				n++
			}
		}
		return figures{f.ttft / n, f.tpot / n, f.e2e / n, f.prompt / n, f.output / n}
	}
	want := of("vllm_bench_serve_recent_detailed.json")
	for name, within := range map[string]float64{
		"vllm_bench_serve_old_goodput_colon.json": 1e-4, "sglang_bench_serving.jsonl": 1e-4,
		"vllm_bench_serve_append_result.jsonl": 1e-3,
		// one of the 24 failed there, or was cancelled
		"inference_perf_per_request_lifecycle_metrics.json": 0.05,
		"aiperf_profile_export.jsonl":                       0.05,
		"aiperf_profile_export_aiperf.json":                 0.05,
	} {
		got := of(name)
		for _, pair := range [][2]float64{{got.ttft, want.ttft}, {got.tpot, want.tpot},
			{got.prompt, want.prompt}, {got.output, want.output}} {
			if math.Abs(pair[0]/pair[1]-1) > within {
				t.Errorf("%s: %+v, want %+v", name, got, want)
				break
			}
		}
	}
}

// Scrapes of three generations of names give the interval that they were made with.
func TestMetricsOfThreeGenerations(t *testing.T) {
	for _, names := range []string{"v0", "0.10", "0.25"} {
		dir := t.TempDir()
		for i, at := range []string{"1785585600", "1785585720"} {
			data, err := os.ReadFile(testkit.Shared(t, "formats",
				"metrics_vllm_constructed_"+names+"_names_scrape"+string(rune('0'+i))+".txt"))
			testkit.OK(t, err)
			testkit.OK(t, os.WriteFile(filepath.Join(dir, "scrape-"+at+".txt"), data,
				0o600))
		}
		o, err := formats.Read(files.Disk{}, dir, formats.Options{})
		testkit.OK(t, err)
		v := o.Runs[0].Intervals[0]
		near := func(what string, got, want float64) {
			if math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%s names: %s is %g, want %g", names, what, got, want)
			}
		}
		near("requests", v.Requests, 480)
		near("seconds", v.Seconds, 120)
		near("TTFT", v.TTFT, 0.08)
		near("gap", v.TPOT, 0.0125)
		near("E2E", v.E2E, 1.33)
		near("prompt tokens", v.PromptTokens, 480*600)
		near("output tokens", v.OutputTokens, 480*101)
		if names != "v0" {
			near("cached tokens", v.CachedTokens, 480*150)
		}
	}
}

// The constructed steps follow a law that the reader must not disturb.
func TestForwardPassMetrics(t *testing.T) {
	o, err := formats.Read(files.Disk{},
		testkit.Shared(t, "formats", "fpm_trace_constructed.jsonl.gz"), formats.Options{})
	testkit.OK(t, err)
	for _, s := range o.Runs[0].Steps {
		law := 0.004 + 110e-6*float64(s.Decodes) + 50e-6*float64(s.PrefillTokens) +
			20e-9*float64(s.DecodeKV)
		if math.Abs(s.Seconds-law) > 1e-6 {
			t.Errorf("the step %+v should take %g s", s, law)
		}
	}
	if n := len(o.Runs[0].Steps); n != 117 {
		t.Errorf("found %d steps, want 117: 118 records, one of them idle", n)
	}
	var _ = observed.Step{}
}
