package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Errors that two systems share cancel: of equal ones nothing is left, and a range
// is never narrower where errors are independent. Without errors the noise is left.
func TestSharedErrorsCancel(t *testing.T) {
	tpot := scenarios.MetricNamed("mean_tpot_ms")
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Response {
			plain := rapid.Float64Range(1, 100).Draw(t, name)
			spread := evidence.Spread{TPOT: rapid.Float64Range(0.01, 0.4).Draw(t, name+" spread")}
			fast, slow := Factors(spread)
			return Response{Plain: plain, Fast: plain * fast, Slow: plain * slow, Spread: spread}
		}
		first, other := draw("first"), draw("other")
		noise := rapid.Float64Range(0, 5).Draw(t, "noise")
		if same := Difference(tpot, first, first, true, 0,
			noise); math.Abs(same.High-noise) > 1e-3 || math.Abs(same.Low+noise) > 1e-3 {
			t.Fatalf("a system against itself: %+v, want the noise of %g", same, noise)
		}
		width := func(shared bool) float64 {
			r := Difference(tpot, first, other, shared, other.Plain-first.Plain, noise)
			return r.High - r.Low
		}
		if shared, apart := width(true), width(false); shared > 1.001*apart {
			t.Fatalf("%+v and %+v: %g where errors are shared, %g where they are not", first, other,
				shared, apart)
		}
	})
}
