package models

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
)

// What vLLM logged of caches whose layers share pages, given their bytes: tokens, and the contexts
// of the longest length beside steps of so many tokens (kv_capacity.csv of 2026-11, by its ids).
// The chunks of Llama 4 take a block less than windows do, which is not told apart.
func TestPagesAreAsLogged(t *testing.T) {
	for _, c := range []struct {
		id, model        string
		tp, context, max int
		gib, contexts    float64
		tokens, block    int
	}{
		{"kv103", "gemma-2-2b", 1, 8192, 8192, 66.47, 81.73, 670_160, 16},
		{"kv104", "gemma-2-9b", 1, 8192, 8192, 54.12, 20.60, 168_880, 16},
		{"kv105", "gemma-3-12b", 1, 8192, 8192, 47.72, 15.88, 130_304, 16},
		{"kv107", "gemma-3-4b", 1, 8192, 8192, 62.51, 57.05, 468_144, 16},
		{"kv110", "gemma-4-26b-a4b", 1, 8192, 4096, 40.61, 35.75, 177_440, 16},
		{"kv191", "llama-4-scout", 4, 8192, 8192, 16.75, 44.68, 365_968, 16},
		{"kv245", "qwen3.5-35b-a3b", 1, 131_072, 8192, 47.55, 18.44, 623_040, 1056},
	} {
		p := SharePages(model(t, c.model).States(c.tp, hardware.BF16), 16)
		bytes := c.gib * (1 << 30)
		near(t, c.id+": tokens", float64(p.Logged(bytes)), float64(c.tokens), 2e-4)
		near(t, c.id+": contexts", bytes/p.Bytes/float64(p.Of(c.context, c.max)), c.contexts, 2e-3)
		block := math.MaxInt
		for _, k := range p.Kinds {
			if k.Tokens > 0 {
				block = min(block, k.Tokens)
			}
		}
		if block != c.block {
			t.Errorf("%s: blocks of %d tokens, want %d", c.id, block, c.block)
		}
	}
}

// A group has as many layers as each other, and less than one is filled up of each kind; so a
// sequence takes at least what its layers keep, and what they keep exactly where groups come out
// even and a token takes the same in all of them. A page is as large as the largest state of a
// group, and as a block of each kind. Pages of a longer sequence are never fewer.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &Architecture{Name: "drawn", Hidden: 64, Vocab: 64}
		full := rapid.IntRange(1, 12).Draw(t, "full")
		windowed := rapid.IntRange(0, 40).Draw(t, "windowed")
		states := rapid.IntRange(0, 40).Draw(t, "with state")
		heads := rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "KV heads of windows")
		add := func(n int, m Mixer) {
			if n > 0 {
				a.Groups = append(a.Groups, Uniform(n, m, nil)...)
			}
		}
		add(full, &Softmax{Heads: 8, KVHeads: 4, HeadDim: 64})
		add(windowed, &Softmax{Heads: 8, KVHeads: heads, HeadDim: 64, Window: 128})
		add(states, &Recurrent{Heads: 8, KeyHeads: 8, KeyDim: 64, ValueDim: 64, Conv: 4,
			StateType: hardware.FP32})
		block := 16 * rapid.IntRange(1, 4).Draw(t, "blocks of 16")
		kinds := a.States(1, hardware.BF16)
		p := SharePages(kinds, block)
		if windowed+states == 0 {
			if p.Bytes != 0 {
				t.Fatalf("layers of one kind share %+v", p)
			}
			return
		}
		most, least := 0, math.MaxInt
		for _, s := range kinds {
			most, least = max(most, s.Layers), min(least, s.Layers)
		}
		group, even := least, true
		if 2*most < 3*least {
			group = most
		}
		for i, s := range kinds {
			k := p.Kinds[i]
			if spare := k.Groups*group - s.Layers; spare < 0 || spare >= group {
				t.Fatalf("%d groups of %d for %d layers", k.Groups, group, s.Layers)
			}
			own := float64(s.FixedBytes) + float64(s.TokenBits/8*int64(k.Tokens))
			if own*float64(group) > p.Bytes || k.Tokens%block != 0 ||
				k.Tokens > 0 && own*float64(group) < p.Bytes {
				t.Fatalf("a page of %g bytes has %+v of %+v", p.Bytes, k, s)
			}
			even = even && s.Layers%group == 0 && s.FixedBytes == 0
		}
		kept, paid := a.SequenceState(1, hardware.BF16), p.State()
		if paid.Growing < kept.Growing || paid.Windowed < kept.Windowed ||
			paid.Fixed < kept.Fixed ||
			paid.Window != kept.Window ||
			even && (paid.Growing != kept.Growing || paid.Windowed != kept.Windowed) {
			t.Fatalf("%+v takes %+v in groups of %d", kept, paid, group)
		}
		n := rapid.IntRange(1, 1<<14).Draw(t, "tokens")
		step := rapid.IntRange(1, 1<<13).Draw(t, "step")
		if of := p.Of(n, step); of > p.Of(n+1, step) || of > p.Of(n, step+1) {
			t.Fatalf("%d tokens take %d pages, and more take fewer", n, of)
		}
	})
}

// No model of the catalogue has kinds of layers whose numbers lie between the ratios of earlier and
// of later releases, so that one rule holds for all; and all whose layers keep different things,
// but for those that compress contexts, share pages.
func TestGroupsOfTheCatalogue(t *testing.T) {
	for _, m := range mustLoad(t).All() {
		kinds := m.States(1, hardware.BF16)
		least, most, packed := math.MaxInt, 0, false
		for _, s := range kinds {
			least, most = min(least, s.Layers), max(most, s.Layers)
			packed = packed || s.Every > 1
		}
		shares := SharePages(m.States(1, hardware.BF16), 16).Bytes > 0
		ratio := float64(most) / float64(least)
		if shares && ratio >= 1.25 && ratio < unevenGroups {
			t.Errorf("%s: %d and %d layers: releases differ", m.Name, least, most)
		}
		k := m.SequenceState(1, hardware.BF16)
		mixed := len(kinds) > 1 && k.Growing > 0 && k.Windowed+k.Fixed > 0
		if mixed && !packed && !shares {
			t.Errorf("%s: its layers share no pages: %+v", m.Name, kinds)
		}
	}
}
