package candidate

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// Where a step takes as long with a draft of one token as without, the tokens of K steps are K and
// a binomial number, also where the last step ends at the limit.
func TestWalkIsBinomial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.Float64Range(0.01, 0.99).Draw(t, "acceptance")
		tokens := rapid.IntRange(1, 60).Draw(t, "tokens")
		steps := rapid.IntRange(0, 60).Draw(t, "steps")
		left := rapid.IntRange(0, 9).Draw(t, "time left")
		got := walkChance([]float64{chance}, waiting{tokens, 10, 10, sim.Time(10*steps + left)})
		want := 0.0
		for n := max(0, tokens-steps); n <= steps; n++ {
			want += distuv.Binomial{N: float64(steps), P: chance}.Prob(float64(n))
		}
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("%g, want %g", got, want)
		}
	})
}

// More tokens, less time, slower drafts and drafts that are accepted less often never raise the
// chance, and the tail is never below it.
func TestChanceInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reach := []float64{rapid.Float64Range(0, 1).Draw(t, "first")}
		for range rapid.IntRange(0, 4).Draw(t, "further") {
			last := reach[len(reach)-1]
			reach = append(reach, last*rapid.Float64Range(0, 1).Draw(t, "acceptance"))
		}
		w := waiting{rapid.IntRange(1, 40).Draw(t, "tokens"), 1000,
			sim.Time(rapid.IntRange(1000, 3000).Draw(t, "drafted")),
			sim.Time(rapid.IntRange(0, 50_000).Draw(t, "within"))}
		chance := walkChance(reach, w)
		if above := chernoffTail(reach, w); above < chance-1e-9 {
			t.Fatalf("the tail is %g, the chance %g", above, chance)
		}
		harder, less := w, append([]float64{}, reach...)
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			harder.tokens++
		case 1:
			harder.within -= harder.within / 7
		case 2:
			harder.drafted += 100
		default:
			for i := range less {
				less[i] *= 0.9
			}
		}
		if got := walkChance(less, harder); got > chance+1e-9 {
			t.Fatalf("%g, and %g where it is harder", chance, got)
		}
	})
}
