package memory

import (
	"testing"

	"pgregory.net/rapid"
)

// The sums over the next steps are the sums of what each step takes by itself, whether they are
// taken at once or in two parts.
func TestSumsOfGrowthAreTheSumsOfSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.Int64Range(1, 20).Draw(t, "block")
		l := lanes{block: block, lanes: []lane{{phases: make([]int64, block),
			turn: rapid.Int64Range(0, block-1).Draw(t, "turn")}}}
		for range rapid.IntRange(0, 12).Draw(t, "sequences") {
			l.lanes[0].add(rapid.IntRange(1, 100).Draw(t, "context"), rapid.Int64Range(1,
				3).Draw(t, "weight"))
		}
		steps := rapid.Int64Range(0, 70).Draw(t, "steps")
		var units, linear, pairs int64
		for x := range steps {
			n := l.growth(0, x+1) - l.growth(0, x)
			units, linear, pairs = units+n, linear+n*x, pairs+n*(x*(x-1)/2)
		}
		gotUnits, gotLinear, gotPairs := l.sums(0, steps)
		if gotUnits != units || gotLinear != linear || gotPairs != pairs {
			t.Fatalf("%d steps: %d, %d, %d, want %d, %d, %d", steps, gotUnits, gotLinear, gotPairs,
				units, linear, pairs)
		}
	})
}
