package steptime

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// The scores of attention cost what FlashAttention's paper says they move: with prompts of N tokens
// their time grows with N², and decoding is as it was.
func TestNaiveAttention(t *testing.T) {
	clock := func(naive bool) *Clock {
		e := Engines()[0]
		e.NaiveAttention = naive
		return mustClock(t, Config{Model: llama8B(), Accelerator: h100(), Engine: e})
	}
	flash, naive := clock(false), clock(true)
	extra := func(n int) float64 {
		s := &sim.Step{Prefill: []sim.Chunk{{New: n, Last: true}}}
		return (naive.prefillAttention(s) - flash.prefillAttention(s)).Seconds()
	}
	const layers, heads, dim = 32, 32, 128
	for _, n := range []float64{1024, 4096} {
		k := &flash.constants.Attention
		scores := 4 * layers * heads * n * n * 2 / (flash.bandwidth * k.PrefillMemory)
		above := n*n - n*(n+1)/2 // the pairs above the diagonal
		hidden := layers * 4 * heads * dim * above / (flash.wide.peak * k.PrefillCompute)
		if got, want := extra(int(n)), scores+hidden; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%g tokens take %g s more, want %g", n, got, want)
		}
	}
	decode := &sim.Step{Decodes: 8, DecodeTokens: 8, Context: 8 * 1000}
	if a, b := flash.Duration(decode), naive.Duration(decode); a != b {
		t.Errorf("a step of decoding takes %v with naive attention, %v without", b, a)
	}
}
