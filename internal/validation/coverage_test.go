package validation

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// docs/coverage.md is what the tables of ../shared/measured give.
func TestCoveragePageIsCurrent(t *testing.T) {
	var got bytes.Buffer
	if err := measuredReport(t).WriteCoverage(&got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "coverage.md")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s is out of date: go test ./internal/validation -run Coverage -update", file)
	}
}
