package metrics

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// In whatever order numbers are added, each bucket has their sum, and ranks follow the buckets.
func TestCountsHoldWhatIsAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c counts
		want := map[int]float64{}
		for range rapid.IntRange(1, 50).Draw(t, "numbers") {
			bucket := rapid.IntRange(0, 2000).Draw(t, "bucket")
			n := float64(rapid.IntRange(1, 9).Draw(t, "n"))
			*c.at(bucket) += n
			want[bucket] += n
		}
		if got := maps.Collect(c.each); !maps.Equal(got, want) {
			t.Fatalf("counts hold %v, want %v", got, want)
		}
		rank := 0.0
		for _, bucket := range slices.Sorted(maps.Keys(want)) {
			if first, last := c.ranked(rank), c.ranked(rank+want[bucket]-1); first != bucket ||
				last != bucket {
				t.Fatalf("the ranks of bucket %d are in %d and %d", bucket, first, last)
			}
			rank += want[bucket]
		}
	})
}
