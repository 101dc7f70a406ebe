package validation

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// docs/coverage.md is what the tables of ../shared/measured give.
func TestCoveragePageIsCurrent(t *testing.T) {
	var got bytes.Buffer
	testkit.OK(t, measuredReport(t).WriteCoverage(&got))
	upToDate(t, filepath.Join("..", "..", "docs", "coverage.md"), got.String())
}
