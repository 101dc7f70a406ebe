package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A run that is interrupted ends with code 1, and neither prints nor leaves anything.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "results")
	ctx, interrupt := context.WithCancel(context.Background())
	go func() {
		for { // until the run has begun to write
			if rows, _ := filepath.Glob(filepath.Join(out, ".unfinished-*", "requests.csv")); len(
				rows) > 0 {
				interrupt()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
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
