package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/internal/sharedfiles"
)

// The plan of docs/questions.md for two recorded traces on one fleet, replayed on the traces, keeps
// the SLO of each.
func TestAzureTracesOnOneFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("replays 28,185 requests on many fleets")
	}
	traces := sharedfiles.Path(t, "traces")
	page := must.Read(t, filepath.Join("..", "..", "docs", "questions.md"))
	dir := t.TempDir()
	writeNamedFiles(t, dir, string(page))
	copyTraces(t, traces, dir)
	run := func(args ...string) []byte {
		var stdout, stderr bytes.Buffer
		if code := execute(context.Background(), args, &stdout, &stderr); code != exitDone {
			t.Fatalf("%q: exit code %d, %s", args, code, stderr.String())
		}
		return stdout.Bytes()
	}
	t.Chdir(dir)
	run("plan", "azure.yaml", "--out", "azure")
	var replayed struct {
		Completed int
		Classes   map[string]struct {
			Completed int
			SLOMet    bool `json:"slo_met"`
		}
	}
	out := run("scenario", filepath.Join("azure", "scenario.yaml"), "--check-slo", "--no-interval",
		"--format", "json")
	must.OK(t, json.Unmarshal(out, &replayed))
	if replayed.Completed != 28185 || len(replayed.Classes) != 2 {
		t.Errorf("replayed %d requests of %d classes, want those of both traces",
			replayed.Completed, len(replayed.Classes))
	}
	for name, class := range replayed.Classes {
		if !class.SLOMet {
			t.Errorf("%s misses its SLO", name)
		}
	}
}
