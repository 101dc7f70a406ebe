package steptime

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// Given step times are what a step takes: however a prompt is cut, its tokens and their pairs cost
// the same, and the form of decode steps is exact.
func TestGivenStepTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Map(rapid.Int64Range(1, 1e6), func(n int64) sim.Time { return sim.Time(n) })
		g := Given{span.Draw(t, "a"), span.Draw(t, "b"), span.Draw(t, "c"), span.Draw(t, "d"),
			span.Draw(t, "e"), span.Draw(t, "f")}
		n := rapid.IntRange(2, 5000).Draw(t, "prompt")
		cut := rapid.IntRange(1, n-1).Draw(t, "cut")
		whole := g.duration(&sim.Step{Prefill: []sim.Chunk{{New: n}}})
		parts := g.duration(&sim.Step{Prefill: []sim.Chunk{{New: cut}}}) +
			g.duration(&sim.Step{Prefill: []sim.Chunk{{New: n - cut, Cached: cut}}})
		if parts != whole+g.PrefillStep {
			t.Fatalf("%d tokens take %v, in two chunks %v: want %v more", n, whole, parts,
				g.PrefillStep)
		}
		s := sim.Step{Decodes: cut, DecodeTokens: cut, Context: int64(n)}
		if got := g.decode(cut).At(s.Context); got != g.duration(&s) {
			t.Fatalf("the form says %v, the step %v", got, g.duration(&s))
		}
		both := g.duration(&sim.Step{Prefill: []sim.Chunk{{New: n}}, Decodes: cut,
			DecodeTokens: cut, Context: int64(n)})
		if want := whole + g.duration(&s) - min(g.PrefillStep, g.DecodeStep); both != want {
			t.Fatalf("both phases take %v, want %v", both, want)
		}
	})
}
