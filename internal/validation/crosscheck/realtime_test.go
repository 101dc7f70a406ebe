package crosscheck

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/scenarios"
)

// inRealTime runs a small scenario with wall-clock arrivals, and returns how long that took, in
// seconds.
func inRealTime(t *testing.T, overrides ...string) (run *Run, wall float64, err error) {
	t.Helper()
	hosts := calibration.Machines{ProbeBytes: 1 << 24}
	defer hosts.Close()
	f, err := scenarios.LoadCrossCheck("v1-chat", append([]string{
		"model=" + tinyModel, "hardware.file=" + writeHost(t), "workload.requests=12",
		"workload.prompt={distribution: uniform, min: 1, max: 40}",
		"workload.output={distribution: uniform, min: 1, max: 9}",
	}, overrides...)...)
	testkit.OK(t, err)
	d, err := open(context.Background(), "tiny", f, &hosts)
	testkit.OK(t, err)
	defer d.close()
	begin := time.Now()
	err = d.runInRealTime(context.Background())
	return d.result.RealTime, time.Since(begin).Seconds(), err
}

// TestRealTime lets time pass: no request ends before its time has come, and steps follow each
// other.
func TestRealTime(t *testing.T) {
	for _, arrivals := range []string{"rate=100/s", "arrivals=at-once",
		"arrivals={process: closed-loop, users: 3, think: 5ms}"} {
		run, wall, err := inRealTime(t,
			"workload={prompt: {distribution: uniform, min: 1, max: 40}, output: 5, requests: 12}",
			"workload."+arrivals)
		testkit.OK(t, err)
		if len(run.Requests) != 12 || run.Result.Completed != 12 {
			t.Errorf("%d requests noted, %d completed", len(run.Requests), run.Result.Completed)
		}
		for _, r := range run.Requests {
			if end := r.Arrival + r.E2E; end > wall || r.TTFT <= 0 || r.TTFT > r.E2E {
				t.Errorf("a request that arrived at %g s ended at %g s of %g s, its first token "+
					"after %g s", r.Arrival, end, wall, r.TTFT)
			}
		}
		for i := 1; i < len(run.Spans); i++ {
			if run.Spans[i].Start < run.Spans[i-1].End {
				t.Errorf("a step began at %g s, and the one before ended at %g s",
					run.Spans[i].Start, run.Spans[i-1].End)
			}
		}
	}
}

// TestWaitingIsNotRealTime refuses a batch that waits for company.
func TestWaitingIsNotRealTime(t *testing.T) {
	_, _, err := inRealTime(t, "batching={policy: dynamic, batch-size: 12, max-delay: 1ms}",
		"workload.rate=20/s")
	if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), "a scheduler that waits") {
		t.Errorf("%v", err)
	}
}
