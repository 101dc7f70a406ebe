package sim

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The winner has the least key, however keys change. Of equal keys the lowest index wins.
func TestTournament(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := make([]int64, rapid.IntRange(1, 9).Draw(t, "keys"))
		tree := newTournament(len(keys))
		for i := range keys {
			keys[i] = math.MaxInt64
		}
		some := rapid.SampledFrom([]int64{math.MinInt64, -3, -1, 0, 1, 2, 7, math.MaxInt64})
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			i := rapid.IntRange(0, len(keys)-1).Draw(t, "index")
			keys[i] = some.Draw(t, "key")
			tree.set(i, keys[i])
			want := slices.Index(keys, slices.Min(keys))
			if index, key := tree.min(); index != want || key != keys[want] {
				t.Fatalf("of %v, %d wins with %d, want %d", keys, index, key, want)
			}
		}
	})
}
