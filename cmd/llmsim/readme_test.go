package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the output that the README shows")

// The README shows what its first command prints.
func TestReadmeShowsTheOutput(t *testing.T) {
	path := filepath.Join("..", "..", "README.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const fence = "\n```\n"
	before, rest, opened := strings.Cut(string(page), fence)
	shown, after, closed := strings.Cut(rest, fence)
	if !opened || !closed {
		t.Fatal("the README has no block of output")
	}
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), []string{"scenario", "llama2-70b.yaml"}, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	printed := strings.TrimSpace(stdout.String())
	if *update {
		if err := os.WriteFile(path, []byte(before+fence+printed+fence+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != printed {
		t.Errorf("the README shows other output; run: go test ./cmd/llmsim -run Readme -update\ngot:\n%s", printed)
	}
}
