package steptime

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/sim"

	"pgregory.net/rapid"
)

// Adapters make every step longer, by the more the more of them are in the batch, at least by their
// bytes over the bandwidth; the form of decoding steps equals their duration, and the operators sum
// to it.
func TestAdaptersTakeTime(t *testing.T) {
	plain := Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0]}
	with := plain
	with.Adapters = Adapters{Count: 50, Slots: 20, Rank: 16, Room: 16, Zipf: 0.5}
	without, c := mustClock(t, plain), mustClock(t, with)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "decodes")
		s := &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n * 100)}
		if n == 0 || rapid.Bool().Draw(t, "prompt") {
			s.Prefill = []sim.Chunk{{New: rapid.IntRange(2, 3000).Draw(t, "new")}}
		}
		o := c.stage.adapterOperator(s.Tokens(), s.Decodes+len(s.Prefill))
		more, least := c.Duration(s)-without.Duration(s),
			sim.Seconds(o.Bytes()/h100().Bandwidth)
		if more < 0 || o.Time < least || more > o.Time+2 {
			t.Fatalf("%+v takes %v more; the adapters take %v, at least %v", s, more, o.Time, least)
		}
		if sum := total(c.Breakdown(s)); sum != c.Duration(s) {
			t.Fatalf("operators sum to %v of %v", sum, c.Duration(s))
		}
		if len(s.Prefill) == 0 && c.Decode(n, s.Context).At(s.Context) != c.Duration(s) {
			t.Fatalf("the form of %d sequences is not their duration", n)
		}
	})
	last := 0.0
	for n := range 200 {
		d := with.Adapters.distinct(n)
		if d < last || d > float64(min(n, with.Adapters.Slots)) {
			t.Fatalf("%d sequences have %v adapters, %d had %v", n, d, n-1, last)
		}
		last = d
	}
	with.Given = &Given{}
	if _, err := New(with); err == nil {
		t.Error("given step times take adapters")
	}
}

// The expected number of different adapters is that of draws.
func TestDifferentAdaptersAreThoseOfDraws(t *testing.T) {
	a := Adapters{Count: 3, Slots: 3, Zipf: 1} // popularities 6/11, 3/11, 2/11
	if got, want := a.distinct(2), 3-(25+64+81)/121.0; math.Abs(got-want) > 1e-6 {
		t.Errorf("%v different adapters in two draws, want %v", got, want)
	}
	if a.Slots = 1; a.distinct(5) != 1 {
		t.Errorf("%v adapters in one slot", a.distinct(5))
	}
}

// An adapter has rank·(inputs + outputs) weights for each of the four matrices of attention in each
// of 32 layers; with tensor parallelism of 2, one of the two sides is split.
func TestAdapterBytes(t *testing.T) {
	m := llama8B()
	a := Adapters{AttentionOnly: true}
	hidden, kv := 4096.0, 1024.0
	want := 2 * 8 * 32 * (4*hidden + 2*hidden + 2*kv)
	if got := a.Bytes(m, 1, 8); got != want {
		t.Errorf("%v bytes, want %v", got, want)
	}
	want = 2 * 8 * 32 * (3*hidden + hidden/2 + hidden/2 + kv + hidden)
	if got := a.Bytes(m, 2, 8); got != want {
		t.Errorf("%v bytes on each of two, want %v", got, want)
	}
}
