package validation

import (
	"fmt"
	"slices"
)

// Clients in a closed loop send ten requests each, and all first requests come at once. No two
// prompts are alike. Lengths vary by 5 %, so that the clients do not stay in step; in rows without
// a version (InferenceMAX) they vary from 80 to 100 %.
var closedLoopRows = rowSpec{
	describe: func(_ *catalogs, r *row, t *trial) string {
		t.least = equalLength
		t.configure(r.text("backend_version"))
		t.closed()
		return ""
	},
}

// configure sets what follows from the engine and its version. Rows without a version come from
// InferenceMAX (2025), whose scripts start vLLM with --max-num-seqs of the concurrency,
// --max-num-batched-tokens 8192 and --async-scheduling.
func (l *trial) configure(version string) {
	if version == "" {
		l.least = drawnLength
		l.maxSequences, l.tokenBudget = min(l.count, 8192), 8192
	}
	l.narrowCache()
}

// before reports whether a version is earlier than major.minor.patch. What is not a version is not.
func before(version string, major, minor, patch int) bool {
	var v [3]int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); n < 2 {
		return false
	}
	return slices.Compare(v[:], []int{major, minor, patch}) < 0
}
