package validation

import (
	"fmt"
	"slices"
)

// Clients in a closed loop send ten requests each, and all first requests come at once. No two
// prompts are alike. Lengths vary by 5 %, so that the clients do not stay in step; in rows without
// a version, which come from InferenceMAX (2025), they vary from 80 to 100 %, and its scripts start
// vLLM with --max-num-seqs of the concurrency, --max-num-batched-tokens 8192 and
// --async-scheduling.
func closedLoopRow(_ *catalogs, r *row, t *trial) string {
	t.least = equalLength
	if r.text("backend_version") == "" {
		t.least, t.maxSequences, t.tokenBudget = drawnLength, min(t.count, 8192), 8192
	}
	t.narrowCache()
	t.closed()
	return ""
}

// before reports whether a version is earlier than major.minor.patch. What is not a version is not.
func before(version string, major, minor, patch int) bool {
	var v [3]int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); n < 2 {
		return false
	}
	return slices.Compare(v[:], []int{major, minor, patch}) < 0
}
