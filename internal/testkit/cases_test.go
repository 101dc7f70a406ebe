package testkit_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Every case is drawn with some seed, none twice with one, and the same ones with the same seed.
func TestEveryCaseIsDrawn(t *testing.T) {
	all, seen := []int{0, 1, 2, 3, 4}, map[int]bool{}
	for seed := range 100 {
		t.Setenv("RAPID_SEED", fmt.Sprint(seed))
		drawn := testkit.DrawCases(t, 2, all)
		if len(drawn) != 2 || drawn[0] == drawn[1] ||
			!slices.Equal(drawn, testkit.DrawCases(t, 2, all)) {
			t.Fatalf("seed %d draws %v", seed, drawn)
		}
		seen[drawn[0]], seen[drawn[1]] = true, true
	}
	if many := testkit.DrawCases(t, 9, all); len(seen) != 5 || len(many) != 5 {
		t.Errorf("two at a time draw %v, nine %v", seen, many)
	}
}

// OneIn runs a test with about one seed in n, and tests of two names with different ones.
func TestDearTestsAreDrawn(t *testing.T) {
	was := testing.Short()
	testkit.OK(t, flag.Set("test.short", "true"))
	defer func() { testkit.OK(t, flag.Set("test.short", fmt.Sprint(was))) }()
	drawn := map[string]int{}
	for seed := range 300 {
		t.Setenv("RAPID_SEED", fmt.Sprint(seed))
		runs := 0
		for _, name := range []string{"a", "b"} {
			t.Run(name, func(t *testing.T) {
				testkit.OneIn(t, 3)
				runs++
				drawn[name]++
			})
		}
		if runs == 2 {
			drawn["both"]++
		}
	}
	for name, want := range map[string]int{"a": 100, "b": 100, "both": 33} {
		if n := drawn[name]; n < want-25 || n > want+25 {
			t.Errorf("%s drawn with %d of 300 seeds, want about %d", name, n, want)
		}
	}
}
