package crosscheck

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/scenarios"
)

// TestAsk lets at most two sequences run at once in place of 32: both clocks see more and smaller
// steps, of the same tokens.
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
	// Requests that wait at once are batched by counts alone, however fast the machine is.
	for i := range w.Before.Executed {
		wide, narrow := w.Before.Executed[i].Result, w.After.Executed[i].Result
		if wide.PeakBatch <= 2 || narrow.PeakBatch != 2 || narrow.Steps < 4*wide.Steps ||
			narrow.TotalOutputTokens != wide.TotalOutputTokens {
			t.Errorf("run %d: batches of %d and %d, %d and %d steps, %d and %d tokens", i,
				wide.PeakBatch, narrow.PeakBatch, wide.Steps, narrow.Steps, wide.TotalOutputTokens,
				narrow.TotalOutputTokens)
		}
		for j, runs := range [][]*Run{w.Before.Predicted, w.After.Predicted} {
			executed := []*scenarios.Result{wide, narrow}[j]
			if p := runs[i].Result; p.PeakBatch != executed.PeakBatch || p.Steps != executed.Steps {
				t.Errorf("run %d: batches of %d and %d steps are predicted, executed %d and %d", i,
					p.PeakBatch, p.Steps, executed.PeakBatch, executed.Steps)
			}
		}
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

// An effect is taken within each pair of runs: a machine that is slower in one pair than in another
// slows both of the pair, and leaves the effects as they are.
func TestEffectsAreOfPairs(t *testing.T) {
	run := func(seconds float64) *Run {
		r := &scenarios.Result{}
		r.MeanTTFT, r.MeanTPOT, r.MeanE2EL = seconds, 0.1*seconds, 2*seconds
		r.OutputThroughput = 100 / seconds
		return &Run{Result: r}
	}
	w := &WhatIf{Before: &Comparison{}, After: &Comparison{}}
	for _, load := range []float64{1, 7, 1.5} {
		w.Before.Predicted = append(w.Before.Predicted, run(1/load))
		w.After.Predicted = append(w.After.Predicted, run(3/load))
		w.Before.Executed = append(w.Before.Executed, run(load))
		w.After.Executed = append(w.After.Executed, run(2.5*load))
	}
	w.measure()
	for i, name := range []string{"TTFT mean", "TPOT mean", "E2E mean", "output throughput"} {
		predicted, executed := 2.0, 1.5
		if name == "output throughput" {
			predicted, executed = 1/3.0-1, 1/2.5-1
		}
		if e := w.Effects[i]; e.Name != name || math.Abs(e.Predicted-predicted) > 1e-12 ||
			math.Abs(e.Executed-executed) > 1e-12 {
			t.Errorf("%s: %+v, want %g and %g", name, e, predicted, executed)
		}
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
