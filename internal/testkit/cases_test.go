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

// Dear runs a test with about one seed in LLMSIM_DEAR, tests of two names with different ones, all
// where nothing is said, and what -run asks for.
func TestDearTestsAreDrawn(t *testing.T) {
	was, run := testing.Short(), flag.Lookup("test.run").Value.String()
	defer func() {
		testkit.OK(t, flag.Set("test.short", fmt.Sprint(was)))
		testkit.OK(t, flag.Set("test.run", run))
	}()
	for _, c := range []struct {
		short    bool
		dear     string
		run      string
		one, two int // of 300 seeds: about how often one of them runs, and both
	}{
		{false, "", "", 300, 300}, {false, "3", "", 100, 33}, {true, "", "", 50, 8},
		{true, "1", "", 50, 8}, {false, "many", "", 300, 300}, {true, "3", "Dear", 300, 300},
	} {
		testkit.OK(t, flag.Set("test.short", fmt.Sprint(c.short)))
		testkit.OK(t, flag.Set("test.run", c.run))
		t.Setenv("LLMSIM_DEAR", c.dear)
		drawn := map[string]int{}
		for seed := range 300 {
			t.Setenv("RAPID_SEED", fmt.Sprint(seed))
			runs := 0
			for _, name := range []string{"a", "b"} {
				t.Run(name, func(t *testing.T) {
					testkit.Dear(t)
					runs++
					drawn[name]++
				})
			}
			if runs == 2 {
				drawn["both"]++
			}
		}
		for name, want := range map[string]int{"a": c.one, "b": c.one, "both": c.two} {
			if n := drawn[name]; n < want-25 || n > want+25 {
				t.Errorf("%+v: %s drawn with %d of 300 seeds, want about %d", c, name, n, want)
			}
		}
	}
}
