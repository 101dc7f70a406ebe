package scenarios_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
)

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
