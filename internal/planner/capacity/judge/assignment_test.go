package judge

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// What is picked together costs what the cheapest of all combinations does for which the stocks
// suffice, has one choice for each need, and is nothing where there is none.
func TestTogetherIsTheCheapestOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stocks := rapid.SliceOfN(rapid.IntRange(0, 12), 0, 3).Draw(t, "stocks")
		needs := make([][]Choice[int], rapid.IntRange(1, 3).Draw(t, "needs"))
		for k := range needs {
			for range rapid.IntRange(0, 6).Draw(t, "choices") {
				needs[k] = append(needs[k], Choice[int]{k, float64(rapid.IntRange(1, 30).Draw(t,
					"cost")), rapid.SliceOfN(rapid.IntRange(0, 8), len(stocks),
					len(stocks)).Draw(t, "takes")})
			}
		}
		want := math.Inf(1)
		var all func(k int, takes [][]int, cost float64)
		all = func(k int, takes [][]int, cost float64) {
			if k == len(needs) {
				if Fit(stocks, takes...) {
					want = min(want, cost)
				}
				return
			}
			for _, c := range needs[k] {
				all(k+1, append(takes[:k:k], c.Takes), cost+c.Cost)
			}
		}
		all(0, nil, 0)
		got, takes := 0.0, [][]int(nil)
		picked := CheapestAssignment(needs, stocks)
		for k, c := range picked {
			if c.Value != k {
				t.Fatalf("a choice for need %d stands for need %d", c.Value, k)
			}
			got, takes = got+c.Cost, append(takes, c.Takes)
		}
		switch {
		case math.IsInf(want, 1) != (picked == nil):
			t.Fatalf("picked %v, the least is %g", picked, want)
		case picked != nil && (got != want || !Fit(stocks, takes...) || len(picked) != len(needs)):
			t.Fatalf("picked %v for %g, the least is %g", picked, got, want)
		}
	})
}
