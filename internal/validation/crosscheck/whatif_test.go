package crosscheck

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/scenarios"
)

// TestAsk changes how many sequences run at once, and changes nothing: the first has an effect,
// which both clocks see, and the second none but noise; runs take turns.
func TestAsk(t *testing.T) {
	hosts := calibration.Machines{ProbeBytes: 1 << 24}
	defer hosts.Close()
	requests := "workload.requests=48"
	if testing.Short() {
		requests = "workload.requests=16"
	}
	load := func(change string) *scenarios.File {
		f, err := scenarios.LoadCrossCheck("v1-batch-32", "model="+tinyModel, "hardware.file="+
			writeHost(t), "workload.prompt.max=30", requests, change)
		testkit.OK(t, err)
		return f
	}
	w, err := Ask(context.Background(), "tiny", "batching.max-sequences=2", load("seed=1"),
		load("batching.max-sequences=2"), &hosts, 2)
	testkit.OK(t, err)
	if len(w.Effects) != 4 || len(w.Before.Executed) != 2 || len(w.After.Executed) != 2 {
		t.Fatalf("%d effects, %d and %d runs", len(w.Effects), len(w.Before.Executed),
			len(w.After.Executed))
	}
	ttft, throughput := w.Effects[0], w.Effects[3]
	if ttft.Predicted < 0.5 || ttft.Executed < 0.5 || throughput.Predicted > 0 ||
		throughput.Executed > 0 {
		t.Errorf("with two sequences at once users wait no longer: %+v", w.Effects)
	}
	dir := t.TempDir()
	testkit.OK(t, SaveWhatIfs(dir, []*WhatIf{w}))
	if saved, err := os.ReadFile(filepath.Join(dir, "what-ifs.json")); err != nil ||
		!bytes.Contains(saved, []byte(`"change": "batching.max-sequences=2"`)) {
		t.Errorf("%v in %s", err, saved)
	}
	var text bytes.Buffer
	if err := WriteWhatIfs(&text, []*WhatIf{w}); err != nil ||
		!strings.Contains(text.String(), "tiny: batching.max-sequences=2") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestKept checks the limit of effects.
func TestKept(t *testing.T) {
	for _, test := range []struct {
		predicted, executed float64
		kept                bool
	}{
		{-0.62, -0.60, true}, {-0.67, -0.60, false}, {2.19, 2.0, true}, {2.3, 2.0, false},
		{0.015, -0.004, true}, {0.03, -0.01, false},
	} {
		if e := (Effect{"", test.predicted, test.executed}); e.Kept() != test.kept {
			t.Errorf("%+v: kept %v", test, e.Kept())
		}
	}
}
