package validation

import (
	"bytes"
	"path/filepath"
	"testing"
)

// docs/coverage.md is what the tables of ../shared/measured give.
func TestCoveragePageIsCurrent(t *testing.T) {
	var got bytes.Buffer
	if err := measuredReport(t).WriteCoverage(&got); err != nil {
		t.Fatal(err)
	}
	upToDate(t, filepath.Join("..", "..", "docs", "coverage.md"), got.String())
}
