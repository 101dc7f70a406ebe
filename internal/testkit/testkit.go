// Package testkit is what tests of several packages share: ends of tests that cannot go on, cases
// that each commit draws, what stands beside the repository, programs that end with their test, and
// checks of readers of files from outside.
package testkit

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Test is a testing.TB or a rapid.T.
type Test interface {
	Helper()
	Fatal(args ...any)
}

// OK ends the test if err is not nil.
func OK(t Test, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the contents of a file, and ends the test if it cannot be read.
func Read(t Test, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	OK(t, err)
	return data
}

// DrawCases returns n of the cases that a dear test tries, or all where there are no more, in a
// drawn order. Each commit draws others, so that all are tried in time, and the same ones when it
// is checked again. The seed is the properties' own: RAPID_SEED, which .ci/run makes from the
// commit, and 0 where it is not set.
func DrawCases[T any](t testing.TB, n int, all []T) []T {
	t.Helper()
	seed := seed()
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	var drawn []T
	for _, i := range order[:min(n, len(all))] {
		drawn = append(drawn, all[i])
	}
	t.Logf("RAPID_SEED=%d draws cases %v of %d", seed, order[:len(drawn)], len(all))
	return drawn
}

// Dear skips a test that takes more than about five CPU-seconds unless it is drawn. A test that
// -run asks for always runs.
func Dear(t testing.TB) {
	t.Helper()
	if flag.Lookup("test.run").Value.String() == "" && !Drawn(t.Name()) {
		t.Skip("a dear test: each night, and with some commits (RAPID_SEED, LLMSIM_DEAR)")
	}
}

// Drawn reports whether RAPID_SEED draws a dear test, or part of one, of this name. With -short,
// one seed in six does. Where LLMSIM_DEAR is a number n, as .ci/run sets it for a commit, one in n
// does. Each night, and where neither is given, all are drawn.
func Drawn(name string) bool { return random(name).Uint64N(oneIn()) == 0 }

// Cases returns how many of n cases that a test draws anew for each commit it draws: all each
// night, and the share of them that dear tests have in other runs (see Drawn), at least one.
func Cases(n int) int { return max(1, n/int(oneIn())) }

// oneIn returns of how many dear tests one runs.
func oneIn() uint64 {
	n, err := strconv.ParseUint(os.Getenv("LLMSIM_DEAR"), 10, 16)
	if err != nil || n < 1 {
		n = 1
	}
	if testing.Short() {
		n = max(n, 6)
	}
	return n
}

// Rand returns random numbers of a test's own, which RAPID_SEED and the name of the test determine.
func Rand(t testing.TB) *rand.Rand { return random(t.Name()) }

func random(name string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return rand.New(rand.NewPCG(seed(), hash.Sum64()))
}

// seed returns the seed of the properties, RAPID_SEED, and 0 where it is not set.
func seed() uint64 {
	seed, err := strconv.ParseUint(os.Getenv("RAPID_SEED"), 10, 64)
	if err != nil {
		return 0
	}
	return seed
}
