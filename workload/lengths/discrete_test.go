package lengths

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// At every number the table must agree with a plain search of the cumulative distribution, and
// never draw what has no weight.
func TestTableInvertsTheCumulativeDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 10)), 1,
			300).Draw(t, "weights")
		weights[rapid.IntRange(0, len(weights)-1).Draw(t, "positive")] = 1
		table, err := NewTable(weights)
		testkit.OK(t, err)
		u := rapid.OneOf(rapid.Uint64(),
			rapid.SampledFrom([]uint64{0, 1, math.MaxUint64 - 1, math.MaxUint64})).Draw(t, "u")
		got := table.At(u)
		want := sort.Search(len(weights), func(i int) bool { return table.below[i] > u>>1 })
		if got != want {
			t.Fatalf("At(%d) = %d, a search finds %d", u, got, want)
		}
		if weights[got] == 0 {
			t.Fatalf("At(%d) drew %d, whose weight is zero", u, got)
		}
	})
}

// The frequencies of a million draws must pass Pearson's test: the statistic is chi-squared with 99
// degrees of freedom, which is above 170 once in 100,000 seeds.
func TestTableFrequencies(t *testing.T) {
	const n, draws = 100, 1_000_000
	weights := make([]float64, n)
	total := 0.0
	for i := range weights {
		weights[i] = 1 + float64(i%7)
		total += weights[i]
	}
	table, err := NewTable(weights)
	testkit.OK(t, err)
	src := rand.NewPCG(1, 2)
	counts := make([]float64, n)
	for range draws {
		counts[table.Draw(src)]++
	}
	statistic := 0.0
	for i, c := range counts {
		expected := draws * weights[i] / total
		statistic += (c - expected) * (c - expected) / expected
	}
	if statistic > 170 {
		t.Errorf("chi-squared statistic %.1f with 99 degrees of freedom", statistic)
	}
}

func TestNewRefusesWhatIsNoDistribution(t *testing.T) {
	for _, weights := range [][]float64{nil, {}, {0, 0}, {1, -1}, {math.NaN()}, {math.Inf(1)},
		{math.MaxFloat64, math.MaxFloat64}} {
		if _, err := NewTable(weights); err == nil {
			t.Errorf("New(%v) made a distribution", weights)
		}
	}
}
