package models

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
)

// The closed form counts what a loop over the queries counts.
func TestCausalPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, c, window := rapid.IntRange(0, 60).Draw(t, "new"), rapid.IntRange(0, 60).Draw(t,
			"cached"), rapid.IntRange(0, 80).Draw(t, "window")
		var want int64
		for i := 1; i <= n; i++ {
			seen := c + i
			if window > 0 {
				seen = min(seen, window)
			}
			want += int64(seen)
		}
		if got := causalPairs(n, c, window); got != want {
			t.Fatalf("%d pairs, want %d", got, want)
		}
	})
}

// A prompt costs the same FLOPs and writes the same KV in one piece as in chunks.
func TestChunksAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		n := rapid.IntRange(1, 2000).Draw(t, "prompt")
		for _, l := range a.AttentionLayers(1, hardware.FP16) {
			whole := l.Prefill(n, 0)
			var sum AttentionWork
			for done := 0; done < n; {
				chunk := rapid.IntRange(1, n-done).Draw(t, "chunk")
				w := l.Prefill(chunk, done)
				sum.FLOPs += w.FLOPs
				sum.KVWritten += w.KVWritten
				sum.IO += w.IO
				done += chunk
			}
			sum.KVRead = whole.KVRead // chunks read the cache again
			if sum != whole {
				t.Fatalf("chunks %+v, one piece %+v", sum, whole)
			}
		}
	})
}

// Decoding q tokens of one sequence is a chunk of q tokens, in all but MLA's FLOPs a pair.
func TestDecodeIsAChunk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		context := rapid.IntRange(1, 1000).Draw(t, "context")
		for _, l := range a.AttentionLayers(1, hardware.FP16) {
			q := 1
			l.PrefillFLOPs = l.DecodeFLOPs
			if l.Window == 0 {
				q = rapid.IntRange(1, min(8, context)).Draw(t, "drafted")
			}
			got, want := l.Decode(1, q, int64(context)), l.Prefill(q, context-q)
			if got != want {
				t.Fatalf("decode %+v, chunk %+v", got, want)
			}
		}
	})
}

// Decode is affine in the total context up to the bend and constant beyond it, and n sequences cost
// n times their mean.
func TestDecodeIsAffine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		n := rapid.IntRange(1, 64).Draw(t, "sequences")
		context := int64(n * rapid.IntRange(1, 1000).Draw(t, "mean context"))
		for _, l := range a.AttentionLayers(1, hardware.FP16) {
			here, next := l.Decode(n, n, context), l.Decode(n, n, context+1)
			slope := l.DecodeFLOPs
			if l.Window > 0 && context >= l.BendsAt(n) {
				slope = 0
			}
			if next.FLOPs-here.FLOPs != slope || (slope == 0) != (next.KVRead == here.KVRead) {
				t.Fatalf("from %+v to %+v, want a slope of %g", here, next, slope)
			}
			one := l.Decode(1, 1, context/int64(n))
			if math.Abs(here.FLOPs-float64(n)*one.FLOPs) > 1e-9*here.FLOPs ||
				here.KVWritten != float64(n)*one.KVWritten {
				t.Fatalf("%d sequences %+v, one %+v", n, here, one)
			}
		}
	})
}

// MLA's absorbed form reads one latent vector for all heads, and pays with FLOPs (DeepSeek-V2,
// section 2.1.2).
func TestMLADecode(t *testing.T) {
	l := model(t, "deepseek-v3").AttentionLayers(1, hardware.BF16)[0]
	if want := 2. * 128 * (512 + 64 + 512); l.DecodeFLOPs != want {
		t.Errorf("%g FLOPs a pair when decoding, want %g", l.DecodeFLOPs, want)
	}
	if want := 2. * 128 * (128 + 64 + 128); l.PrefillFLOPs != want {
		t.Errorf("%g FLOPs a pair in prefill, want %g", l.PrefillFLOPs, want)
	}
	if l.KVBytes != 576*2 {
		t.Errorf("%g KV bytes", l.KVBytes)
	}
}
