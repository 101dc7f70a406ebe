package steptime

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/hardware"
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
		return (naive.stage.attention.prefill(s) - flash.stage.attention.prefill(s)).Seconds()
	}
	const layers, heads, dim = 32, 32, 128
	for _, n := range []float64{1024, 4096} {
		k := &flash.constants.Attention
		scores := 4 * layers * heads * n * n * 2 / (flash.bandwidth * k.PrefillMemory)
		above := n*n - n*(n+1)/2 // the pairs above the diagonal
		hidden := layers * 4 * heads * dim * above /
			(flash.stage.products.wide.peak * k.PrefillCompute)
		if got, want := extra(int(n)), scores+hidden; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%g tokens take %g s more, want %g", n, got, want)
		}
	}
	decode := &sim.Step{Decodes: 8, DecodeTokens: 8, Context: 8 * 1000}
	if a, b := flash.Duration(decode), naive.Duration(decode); a != b {
		t.Errorf("a step of decoding takes %v with naive attention, %v without", b, a)
	}
}

// The scores that naive attention moves are in its bytes, so that memory binds what took the time.
func TestNaiveAttentionShowsItsScores(t *testing.T) {
	cfg := named(t, "llama-3.1-8b", "a100-80gb-sxm", "vllm-v1")
	step := &sim.Step{Prefill: []sim.Chunk{{New: 8192, Last: true}}}
	flash := promptAttention(t, cfg, step)
	cfg.Engine.NaiveAttention = true
	naive := promptAttention(t, cfg, step)
	// For each of 32 layers and heads, and each pair of tokens, four transfers of two bytes.
	scores := 32 * 32 * 8192.0 * 8192 * 4 * 2
	if moved := naive.Bytes() - flash.Bytes(); moved < 0.99*scores || moved > 1.01*scores {
		t.Errorf("naive attention moves %g bytes more than flash, want %g", moved, scores)
	}
	if naive.Bound != Memory || flash.Bound != Compute {
		t.Errorf("naive attention is bound by %s and flash by %s, want memory and compute",
			naive.Bound, flash.Bound)
	}
}

func promptAttention(t *testing.T, cfg Config, step *sim.Step) Operator {
	t.Helper()
	for _, o := range mustClock(t, cfg).Breakdown(step) {
		if o.Name == "attention_prefill" {
			return o
		}
	}
	t.Fatal("there is no attention")
	return Operator{}
}

// What binds far below the ridge is never called arithmetic: few rows leave tiles unfilled.
func TestUnfilledTilesAreNoArithmetic(t *testing.T) {
	cfg := named(t, "qwen3-235b-a22b", "h100-sxm", "vllm-v1")
	cfg.Weights, cfg.Parallel = hardware.FP8Block, Parallelism{Tensor: 8, Expert: 8}
	cfg.ScaleUp = &hardware.Link{Name: "nvlink4", Bandwidth: 450e9}
	c := mustClock(t, cfg)
	for _, o := range c.Breakdown(&sim.Step{Decodes: 32, DecodeTokens: 32, Context: 32 << 10}) {
		if o.Bound == Compute && o.Bytes() > 0 && o.FLOPs/o.Bytes() < 20 {
			t.Errorf("%s is bound by compute at %.1f FLOP a byte", o.Name, o.FLOPs/o.Bytes())
		}
	}
}
