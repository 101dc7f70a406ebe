// Package cases draws the cases that a dear test tries. Each commit draws others, so that all are
// tried in time, and the same ones when it is checked again.
package cases

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Draw returns n of the cases, or all where there are no more, in a drawn order. The seed is that
// of the properties: RAPID_SEED, which .ci/run makes from the commit, and 0 where it is not set.
func Draw[T any](t testing.TB, n int, all []T) []T {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("RAPID_SEED"), 10, 64)
	if err != nil {
		seed = 0
	}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	var drawn []T
	for _, i := range order[:min(n, len(all))] {
		drawn = append(drawn, all[i])
	}
	t.Logf("RAPID_SEED=%d draws cases %v of %d", seed, order[:len(drawn)], len(all))
	return drawn
}
