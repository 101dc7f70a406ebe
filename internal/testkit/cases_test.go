package testkit_test

import (
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
