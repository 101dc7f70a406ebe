package capacity

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/sim"
)

// Where a step takes as long with a draft of one token as without, the tokens of K steps are K and
// a binomial number.
func TestWalkIsBinomial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.Float64Range(0.01, 0.99).Draw(t, "acceptance")
		tokens := rapid.IntRange(1, 60).Draw(t, "tokens")
		steps := rapid.IntRange(0, 60).Draw(t, "steps")
		got := walkChance([]float64{chance}, waiting{tokens, 10, 10, sim.Time(10*steps + 3)})
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

// Whatever drafts, and however long: no more requests keep their limit with a replica nearly to
// themselves than the bound says, and no replica sustains more than its bound.
func TestDraftsKeepTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]string{"eagle", "n-gram, match: 0.7", "n-gram",
			"draft-model, draft: llama-3.2-1b", "layer-skip, layers: 8",
			"eagle, tree: {width: 3, nodes: 8}"}).Draw(t, "method")
		law := rapid.SampledFrom([]string{"0.2", "0.7", "0.95",
			"{law: by-position, positions: [0.9, 0.5, 0.2]}",
			"{law: beta, mean: 0.6, std: 0.2}"}).Draw(t, "law")
		length := rapid.SampledFrom([]string{"fixed", "optimal", "adaptive",
			"per-request"}).Draw(t, "length")
		tokens := rapid.IntRange(1, 6).Draw(t, "tokens")
		if method == "eagle, tree: {width: 3, nodes: 8}" {
			length = "fixed"
		}
		text := fmt.Sprintf("model: llama-3.1-8b\nworkload: {rate: 1/s, prompt: 100, output: "+
			"%d}\nslo: {ttft: 200ms, tpot: %dus, percentile: 90}\nmenu: {hardware: [h100-sxm], "+
			"tensor: [1], speculation: [{method: %s, tokens: %d, acceptance: %s, length: %s}]}\n"+
			"effort: {requests: 400, most-requests: 400}",
			rapid.IntRange(2, 60).Draw(t, "output"), rapid.IntRange(2000, 9000).Draw(t, "tpot"),
			method, tokens, law, length)
		f, err := asked.Parse("drafts.yaml", []byte(text))
		must.OK(t, err)
		s, err := newSearch(t.Context(), f, nil, Options{})
		must.OK(t, err)
		o := s.options[1]
		if o.unfit() != "" {
			t.Skip(o.unfit())
		}
		observe := func(rate float64) trial {
			file, err := f.File(o.scenario(&f.Plan.Menu, 1, o.slow), rate, 400)
			must.OK(t, err)
			seen, err := Simulate(t.Context(), file, f.Plan.Params())
			must.OK(t, err)
			return seen.(trial)
		}
		light := observe(o.ceiling * lightLoad / 4)
		noise := 5 * math.Sqrt((o.alone*(1-o.alone)+1e-3)/400)
		if light.All > o.alone+noise {
			t.Errorf("%s\n%g of the requests keep the SLO, the bound is %g", text, light.All,
				o.alone)
		}
		if over := observe(1.3 * o.ceiling); over.Met && !over.Growing && !over.Short {
			t.Errorf("%s\nsustains %g/s, the bound is %g/s", text, 1.3*o.ceiling, o.ceiling)
		}
	})
}
