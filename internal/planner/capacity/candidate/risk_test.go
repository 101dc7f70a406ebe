package candidate

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// A factor is at most its quantile with the probability of it, and at most the typical one in half
// of the cases.
func TestQuantilesOfErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := evidence.Law{Bias: rapid.Float64Range(-0.5, 0.5).Draw(t, "bias"),
			Spread: rapid.Float64Range(0.05, 0.5).Draw(t, "spread")}
		p := rapid.Float64Range(0.05, 0.95).Draw(t, "probability")
		if got := n.Below(n.Quantile(p)); math.Abs(got-p) > 1e-3 {
			t.Fatalf("%+v is below its quantile of %g with probability %g", n, p, got)
		}
		if got := n.Below(math.Exp(n.Bias)); math.Abs(got-0.5) > 1e-12 {
			t.Fatalf("%+v is below what is typical with probability %g", n, got)
		}
		sure := evidence.Law{Bias: n.Bias}
		typical := math.Exp(n.Bias)
		if sure.Below(typical) != 1 || sure.Below(0.999*typical) != 0 || n.Below(0) != 0 ||
			sure.Below(0) != 0 {
			t.Fatalf("without a spread: %g and %g", sure.Below(typical),
				sure.Below(0.999*typical))
		}
	})
	if got := AsPredicted(); got.Steps != 1 || got.First != 1 {
		t.Errorf("as predicted: %+v", got)
	}
	if got := (evidence.Law{Bias: -20}).At(0); got != 0.01 {
		t.Errorf("the least factor is %g", got)
	}
}

// The errors of TTFT are those of steps with independent ones, so that together they are what was
// measured, and TTFT is never earlier than steps make it: the steps of servers that only compute
// prompts, where those of decoding alone are known to be off.
func TestErrorsOfTheFirstToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := evidence.Spread{TPOT: rapid.Float64Range(0.01, 0.3).Draw(t, "TPOT"),
			TTFT:     rapid.Float64Range(0.01, 0.6).Draw(t, "TTFT"),
			TPOTBias: rapid.Float64Range(-0.2, 0.2).Draw(t, "bias of TPOT"),
			TTFTBias: rapid.Float64Range(-0.2, 0.2).Draw(t, "bias of TTFT")}
		s.DecodeBias = rapid.SampledFrom([]float64{0, s.TPOTBias}).Draw(t, "bias of decoding")
		p := PhysicsOf(s)
		late := p.Late()
		if math.Abs(late.Bias-s.TTFTBias) > 1e-12 ||
			math.Abs(late.Spread-max(s.TTFT, s.TPOT)) > 1e-9 || p.Steps.Bias != s.TPOTBias ||
			p.Steps.Spread != s.TPOT {
			t.Fatalf("%+v has steps %+v and TTFT %+v", s, p.Steps, late)
		}
		confidence := rapid.Float64Range(0.5, 0.99).Draw(t, "confidence")
		w := p.Worst(confidence)
		steps, first := p.Steps.Quantile(confidence), late.Quantile(confidence)
		prompts := p.Prompts(steps)
		if w.Steps != steps || math.Abs(prompts*w.First-max(prompts, first)) > 1e-3 {
			t.Fatalf("%+v, want %g and %g", w, steps, first)
		}
		by := func(steps, first float64) ErrorFactors {
			late := w.Late
			late.First *= first
			return ErrorFactors{w.Steps * steps, late}
		}
		if !w.Within(w) || !w.Within(by(1.1, 1)) || w.Within(by(0.9, 2)) ||
			w.Within(by(1.1, 0.8)) {
			t.Fatalf("%+v is not compared by both latencies", w)
		}
	})
}
