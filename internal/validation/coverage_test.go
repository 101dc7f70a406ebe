package validation

import (
	"bytes"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// coverage.md is what the tables of ../shared/measured give.
func TestCoveragePageIsCurrent(t *testing.T) {
	var got bytes.Buffer
	testkit.OK(t, measuredReport(t).WriteCoverage(&got))
	upToDate(t, "coverage.md", got.String())
}
