package steptime

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

func TestPlanAddsUp(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		cfg := deployed(t, machines, known)
		p, err := Plan(MemoryConfig{
			Model: cfg.Model, Accelerator: cfg.Accelerator, Parallel: cfg.Parallel,
			Weights: cfg.Weights, KV: cfg.KV, Engine: cfg.Engine,
			TokenBudget: rapid.IntRange(1, 16384).Draw(t, "budget"), Sequences: rapid.IntRange(1,
				512).Draw(t, "sequences"),
			BlockTokens: rapid.SampledFrom([]int{0, 1, 16, 128}).Draw(t, "block"), Context: 4096,
		})
		testkit.OK(t, err)
		block := p.KVBytesPerToken * float64(p.BlockTokens)
		least := max(block, p.State.Bytes(1))
		if p.Missing > 0 {
			if p.Blocks != 0 || p.Err() == nil ||
				!strings.Contains(p.Err().Error(), "does not fit") {
				t.Fatalf("%+v: %v", p, p.Err())
			}
			// What is missing would make room for one block and one token of a sequence.
			if got := p.Weights + p.Activations + p.Context +
				least - p.Missing; math.Abs(got/p.Usable-1) > 1e-9 {
				t.Fatalf("%+v adds up to %g", p, got)
			}
			return
		}
		if got := p.Weights + p.Activations + p.Context + p.KV; p.Err() != nil ||
			math.Abs(got/p.Usable-1) > 1e-9 {
			t.Fatalf("%+v adds up to %g: %v", p, got, p.Err())
		}
		if left := p.KV - float64(p.Blocks)*block; left < 0 || left >= block ||
			p.Contexts*4096 > p.Tokens {
			t.Fatalf("%+v wastes %g", p, left)
		}
		same := p // to limit a cache to what it holds changes nothing except what it wastes
		same.Limit(p.Tokens)
		if same.KV = p.KV; same != p {
			t.Fatalf("limited to its size, %+v becomes %+v", p, same)
		}
		part := rapid.IntRange(1, p.Blocks).Draw(t, "part")
		half := p
		half.Limit(part * p.BlockTokens * p.Ranks)
		if half.Blocks != part || half.Tokens != part*p.BlockTokens*p.Ranks ||
			math.Abs(half.KV/(float64(part)*block)-1) > 1e-9 {
			t.Fatalf("limited to %d blocks, %+v becomes %+v", part, p, half)
		}
	})
}

// The longest sequence is one that fits in a rank and is too long by one token, whatever it keeps.
func TestLongestFillsARank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string) float64 {
			return float64(rapid.IntRange(0, 50).Draw(t, name))
		}
		p := MemoryPlan{Ranks: rapid.IntRange(1, 3).Draw(t, "ranks"), BlockTokens: 1,
			State: models.SequenceState{Growing: 1 + size("growing"), Windowed: size("windowed"),
				Window: rapid.IntRange(0, 40).Draw(t, "window"), Fixed: size("fixed")}}
		p.KVBytesPerToken = p.State.Growing + p.State.Windowed
		if p.State.Fixed == 0 && p.State.Windowed == 0 {
			p.State.Window = 0
		}
		tokens := rapid.IntRange(1, 1000).Draw(t, "tokens")
		p.Limit(tokens * p.Ranks)
		n, room := p.Longest(), float64(tokens)*p.KVBytesPerToken
		if fits := tokens*p.Ranks >= p.LeastTokens(); fits != (n > 0) || fits != (p.Err() == nil) {
			t.Fatalf("%+v: %d tokens, at least %d, hold a sequence of %d: %v", p, tokens,
				p.LeastTokens(), n, p.Err())
		}
		if p.State.Bytes(n) > room || p.State.Bytes(n+1) <= room {
			t.Fatalf("%+v: %d tokens take %g, one more %g, of %g", p, n, p.State.Bytes(n),
				p.State.Bytes(n+1), room)
		}
	})
}

// known returns a model and an accelerator of the catalogues.
func known(t *testing.T, model, accelerator string) (*models.Architecture, hardware.Accelerator) {
	t.Helper()
	all, err := models.Load()
	testkit.OK(t, err)
	m, err := all.Lookup(model)
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	a, err := machines.Accelerator(accelerator)
	testkit.OK(t, err)
	return m, a
}

func TestLlama70BNeedsTwo(t *testing.T) {
	model, a100 := known(t, "llama-2-70b", "a100-80gb-sxm")
	for tp, fits := range map[int]bool{1: false, 2: true} {
		p, err := Plan(MemoryConfig{Model: model, Accelerator: &a100, Engine: Engines()[0],
			Parallel: Parallelism{Tensor: tp}, TokenBudget: 2048, Sequences: 128})
		if err != nil || (p.Err() == nil) != fits {
			t.Errorf("tensor parallelism %d: %v, %v", tp, err, p.Err())
		}
	}
}

// A data-parallel rank samples its own sequences only.
func TestRanksSampleTheirOwnSequences(t *testing.T) {
	model, h100 := known(t, "deepseek-v3", "h100-sxm")
	plan := func(ranks, sequences int) float64 {
		p, err := Plan(MemoryConfig{
			Model: model, Accelerator: &h100, Engine: Engines()[0],
			Parallel: Parallelism{Data: ranks}, TokenBudget: sequences, Sequences: sequences,
		})
		testkit.OK(t, err)
		return p.Activations
	}
	for _, ranks := range []int{2, 32, 64} {
		if one, each := plan(1, 512), plan(ranks, 512*ranks); each != one {
			t.Errorf("activations of %d ranks with 512 sequences each take %g bytes on each "+
				"accelerator, those of one %g", ranks, each, one)
		}
	}
}

// What an engine keeps while it samples adds to the peak of the logits: hidden vectors, buffers,
// and for each chosen expert of a token the wider of hidden vector and gated inputs, and of hidden
// vector and inputs; tables of rotary positions add to the weights. Qwen3-30B-A3B has 8 chosen
// experts of 768 under hidden vectors of 2,048, so that its workspaces take 8·(2,048 + 2,048)
// elements a token, and Mixtral's 2·(28,672 + 14,336).
func TestKeptMemoryAddsToThePeak(t *testing.T) {
	for model, workspaces := range map[string]int{"qwen3-30b-a3b": 8 * (2048 + 2048),
		"mixtral-8x7b": 2 * (28672 + 14336), "llama-3.1-8b": 0} {
		m, h200 := known(t, model, "h200-sxm")
		planned := func(own EngineMemory) MemoryPlan {
			own.LogitBytes = 200
			p, err := Plan(MemoryConfig{Model: m, Accelerator: &h200, TokenBudget: 1000,
				Sequences: 1000, Engine: Engine{Memory: own}})
			testkit.OK(t, err)
			return p
		}
		bare := planned(EngineMemory{})
		for _, c := range []struct {
			own            EngineMemory
			peak, resident float64
		}{
			{own: EngineMemory{Buffers: 12345}, peak: 12345},
			{own: EngineMemory{Hidden: true}, peak: float64(2000 * m.Hidden)},
			{own: EngineMemory{Workspaces: true}, peak: float64(2000 * workspaces)},
			{own: EngineMemory{Rotary: 2}, resident: float64(2 * m.MaxContext * 128)},
		} {
			p := planned(c.own)
			if p.Activations-bare.Activations != c.peak || p.Weights-bare.Weights != c.resident {
				t.Errorf("%s, %+v: %g more at the peak, want %g; %g more weights, want %g", model,
					c.own, p.Activations-bare.Activations, c.peak, p.Weights-bare.Weights,
					c.resident)
			}
		}
	}
}
