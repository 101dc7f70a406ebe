package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
)

var update = flag.Bool("update", false, "write the output that the README shows")

// The README shows what its first command prints; -update writes it.
func TestReadmeShowsTheOutput(t *testing.T) {
	path := filepath.Join("..", "..", "README.md")
	page := testkit.Read(t, path)
	const fence = "\n```\n"
	before, rest, opened := strings.Cut(string(page), fence)
	shown, after, closed := strings.Cut(rest, fence)
	if !opened || !closed {
		t.Fatal("the README has no block of output")
	}
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), []string{"scenario", "llama2-70b.yaml"}, &stdout,
		&stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	printed := strings.TrimSpace(stdout.String())
	if *update {
		testkit.OK(t, os.WriteFile(path, []byte(before+fence+printed+fence+after), 0o666))
		return
	}
	if diff := cmp.Diff(shown, printed); diff != "" {
		t.Errorf("the README shows other output; run: go test ./cmd/llmsim -run Readme -update\n%s",
			diff)
	}
}

// words are those of a text without its figures and charts.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsDigit(r) || strings.ContainsRune(".,", r) ||
			'\u2580' <= r && r <= '\u259f'
	})
}
