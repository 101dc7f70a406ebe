package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/report/timeline"
	"github.com/llmsim/llmsim/internal/testkit"
)

// A run that is interrupted ends with code 1, and neither prints nor leaves anything.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "results")
	ctx := begun(t, filepath.Join(out, ".unfinished-*", "*requests.csv"))
	var stdout, stderr bytes.Buffer
	code := execute(ctx, []string{"scenario", "speed", "--set", "workload.requests=1000000000",
		"--out", out}, &stdout, &stderr)
	if code != exitFailed || stdout.Len() > 0 ||
		stderr.String() != "llmsim: interrupted; nothing was written\n" {
		t.Errorf("exit code %d, printed %q and %q", code, stdout.String(), stderr.String())
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// begun returns a context that is interrupted when a run has begun to write a file of that pattern.
// The test fails if the run has not within a minute: it would go on until the disk is full.
func begun(t *testing.T, pattern string) context.Context {
	ctx, interrupt := context.WithTimeoutCause(t.Context(), time.Minute, context.Canceled)
	go func() {
		defer interrupt()
		for ctx.Err() == nil {
			if found, _ := filepath.Glob(pattern); len(found) > 0 {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Errorf("nothing was written as %s", pattern)
	}()
	return ctx
}

// A run that is interrupted leaves the timeline and the metrics of an earlier run as they are.
func TestInterruptedRunsReplaceNothing(t *testing.T) {
	dir := t.TempDir()
	trace, metrics := filepath.Join(dir, "trace.json"), filepath.Join(dir, "metrics.txt")
	good := map[string]string{trace: timeline.TraceHead + "good", metrics: "# HELP good"}
	for path, text := range good {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	ctx := begun(t, filepath.Join(dir, ".unfinished-*"))
	var stdout, stderr bytes.Buffer
	if code := execute(ctx, []string{"scenario", "speed", "--set", "workload.requests=1000000000",
		"--trace", trace, "--metrics", metrics}, &stdout, &stderr); code != exitFailed {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	for path, text := range good {
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("%s is now %q, %v", path, data, err)
		}
	}
}
