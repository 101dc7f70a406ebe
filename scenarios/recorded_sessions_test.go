package scenarios_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// The sessions of TraceLab's example repeat 81.65 % of their prompt tokens (939,365 of 1,150,397).
// An infinite radix cache finds all of them but the last token of each earlier answer, whose KV is
// never computed.
func TestRecordedSessionsReuseTheirContext(t *testing.T) {
	path := testkit.Shared(t, "traces", "agents", "tracelab_multi_session_large.csv")
	scenario := "model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 1\n" +
		"memory: {policy: radix}\nengine: {max-model-len: 131072}\n"
	file, err := scenarios.Parse("test.yaml", []byte(scenario), "workload={trace: "+path+"}")
	testkit.OK(t, err)
	r, err := file.Run(t.Context(), policies.Default())
	testkit.OK(t, err)
	const rounds, repeated, later = 303, 939_365, 255
	if r.Completed != rounds || r.TotalInputTokens != 1_150_397 ||
		r.CachedTokens > repeated-later || r.CachedTokens < repeated*99/100 {
		t.Errorf("%d rounds, %d of %d prompt tokens cached", r.Completed, r.CachedTokens,
			r.TotalInputTokens)
	}
}

// A trace of sessions is not cut into parts, and says so.
func TestRecordedSessionsAreWhole(t *testing.T) {
	file, err := scenarios.Parse("test.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"workload: {trace: {file: ../workload/trace/testdata/tracelab.csv, resample: 200ms}}\n"))
	if err == nil {
		_, err = file.Build(policies.Default())
	}
	if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), "a trace of sessions") {
		t.Errorf("found %v", err)
	}
}

// When a recording begins changes no figure of its replay, to the last bit, unless the scenario
// keeps the offset: then the window is longer by it.
func TestOffsetsOfTracesChangeNothing(t *testing.T) {
	const offset = 40
	var runs []metrics.Summary
	for k, set := range []string{"", "", ", offset: true"} {
		path, text := filepath.Join(t.TempDir(), "trace.jsonl"), ""
		for i := range 20 {
			at := 300*i + 1000*offset*min(k, 1)
			text += fmt.Sprintf(`{"timestamp": %d, "input_length": 200, "output_length": 30}`+"\n",
				at)
		}
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
		r := parsed(t, fmt.Sprintf("model: llama-3.1-8b\nhardware: l4\nslo: {ttft: 1s}\n"+
			"workload: {trace: {file: %q%s}}\n", path, set))
		runs = append(runs, r.Summary)
	}
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
		t.Errorf("a recording that begins at 0 (-) and at %d s (+): %s", offset, diff)
	}
	if longer := runs[2].Duration - runs[0].Duration; math.Abs(longer-offset) > 1e-9 {
		t.Errorf("with the offset, the window is %v s longer, want %d s", longer, offset)
	}
}

// How many sequences of 131,072 tokens one node of eight H200 serves: the last column of the table
// of docs/models.md, within the 2 % by which what engines keep beside it changes with each fit.
func TestBatchOfLongContexts(t *testing.T) {
	for model, want := range map[string]int{
		"llama-3.1-70b": 20, "gemma-3-27b": 87, "deepseek-v3.2": 3, "kimi-k2.5": 5,
		"gpt-oss-120b":      200,
		"qwen3.5-397b-a17b": 14, "nemotron-3-super-120b-a12b": 200,
	} {
		file, err := scenarios.Describe(model, "h200-sxm", "parallelism.tensor=8",
			"engine.max-model-len=131072",
			"engine.kv-cache=bf16")
		testkit.OK(t, err)
		m, err := file.Memory(policies.Default())
		testkit.OK(t, err)
		if got := m.Plan.Contexts; got < want-(want+49)/50 || got > want+(want+49)/50 {
			t.Errorf("%s: %d sequences, want %d", model, got, want)
		}
	}
}
