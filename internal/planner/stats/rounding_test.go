package stats

import (
	"testing"

	"pgregory.net/rapid"
)

// Observations that cancel have the mean 0, in whatever order they are summed.
func TestMeanOfWhatCancelsIsZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.SliceOfN(rapid.Float64Range(0.01, 100), 1, 8).Draw(t, "half")
		var all []float64
		for _, x := range half {
			all = append(all, x/3, x*2/3, -x)
		}
		if m := Mean(rapid.Permutation(all).Draw(t, "all"), 0.95); m.Mean != 0 {
			t.Fatalf("the mean of %v is %g, want 0", all, m.Mean)
		}
	})
}
