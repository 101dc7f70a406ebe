package steptime

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// Of a load that is spread evenly over data-parallel ranks, each does what it would do alone, but
// for the routed experts and the exchange of tokens with them.
func TestRanksShareALoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Model: deepseekLite(), Accelerator: h100(), ScaleUp: nvlink4,
			Network: network, Engine: Engines()[0]}
		alone := mustClock(t, cfg)
		ranks := rapid.SampledFrom([]int{2, 4, 8, 16, 32}).Draw(t, "ranks")
		cfg.Parallel.Data = ranks
		together := mustClock(t, cfg)
		n, context := rapid.IntRange(1, 500).Draw(t, "n"), rapid.IntRange(1, 4000).Draw(t,
			"context")
		prompt := rapid.IntRange(0, 3000).Draw(t, "prompt")
		one := sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n * context)}
		all := sim.Step{Decodes: ranks * n, DecodeTokens: ranks * n,
			Context: int64(ranks * n * context)}
		if prompt > 0 {
			one.Prefill = append(one.Prefill, sim.Chunk{New: prompt, Last: true})
			for range ranks {
				all.Prefill = append(all.Prefill, sim.Chunk{New: prompt, Last: true})
			}
		}
		want, got := operators(alone, &one), operators(together, &all)
		for name, time := range want {
			rounded := 4096 + sim.Time(all.Context/16) // see pieceEnd
			if got[name] < time-rounded || got[name] > time+rounded {
				t.Fatalf("%s takes %v on each of %d ranks, %v alone", name, got[name], ranks, time)
			}
		}
		if got["dispatch"] == 0 || got["combine"] < got["dispatch"] {
			t.Fatalf("the exchange takes %v there and %v back", got["dispatch"], got["combine"])
		}
	})
}

// Chunks of prompts are not divided: one more than there are ranks takes as long as two each, and
// never less than an even share.
func TestRanksDoNotDivideChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Model: deepseekLite(), Accelerator: h100(), ScaleUp: nvlink4,
			Network: network, Engine: Engines()[0]}
		cfg.Parallel.Data = rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "ranks")
		c, length := mustClock(t, cfg), rapid.IntRange(1, 3000).Draw(t, "length")
		prompts := func(n int) load {
			s := sim.Step{}
			for range n {
				s.Prefill = append(s.Prefill, sim.Chunk{New: length, Last: true})
			}
			return c.busiest(&s)
		}
		n := rapid.IntRange(1, 40).Draw(t, "prompts")
		if want := (n + c.ranks - 1) / c.ranks * length; prompts(n).tokens != want {
			t.Fatalf("%d prompts of %d tokens on %d ranks: the busiest has %d tokens, want %d", n,
				length, c.ranks, prompts(n).tokens, want)
		}
	})
}

// Experts that are split over all ranks take the same memory as experts that are spread, and all
// ranks see all tokens.
func TestSplitExpertsOfRanks(t *testing.T) {
	cfg := Config{Model: deepseekLite(), Accelerator: h100(), ScaleUp: nvlink4, Network: network,
		Engine: Engines()[0]}
	cfg.Parallel = Parallelism{Data: 8}
	spread := mustClock(t, cfg)
	cfg.Parallel.Expert = 1
	split := mustClock(t, cfg)
	s := sim.Step{Decodes: 2048, DecodeTokens: 2048, Context: 2048 * 500}
	a, b := operators(spread, &s), operators(split, &s)
	if b["dispatch"] != b["combine"] || b["combine"] < a["combine"]/2 {
		t.Errorf("dispatch and combine take %v and %v where experts are spread, %v and %v where "+
			"they are split", a["dispatch"], a["combine"], b["dispatch"], b["combine"])
	}
	for name := range a {
		if name != "dispatch" && name != "combine" && a[name] != b[name] {
			t.Errorf("%s takes %v where experts are spread, %v where they are split", name, a[name],
				b[name])
		}
	}
}

// Copies of experts let groups be as many as divide experts and copies together. They take memory,
// and more weights to read where few tokens visit them; the arithmetic stays.
func TestRedundantExperts(t *testing.T) {
	cfg := Config{Model: deepseekLite(), Accelerator: h100(), ScaleUp: nvlink4, Network: network,
		Engine: Engines()[0]}
	cfg.Parallel = Parallelism{Data: 24}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "8 redundant experts") {
		t.Errorf("64 experts on 24 accelerators: %v, want the number of copies that helps", err)
	}
	cfg.Parallel.Redundant = 8
	mustClock(t, cfg)
	experts := func(redundant int) (flops, bytes float64) {
		cfg.Parallel = Parallelism{Data: 8, Redundant: redundant}
		for _, o := range mustClock(t, cfg).Breakdown(&sim.Step{Decodes: 4096, DecodeTokens: 4096,
			Context: 4096}) {
			if strings.HasPrefix(o.Name, "expert_") {
				flops, bytes = flops+o.FLOPs, bytes+o.Bytes()
			}
		}
		return flops, bytes
	}
	flops, bytes := experts(0)
	if moreFLOPs, moreBytes := experts(16); moreFLOPs != flops || moreBytes < 1.24*bytes ||
		moreBytes > 1.26*bytes {
		t.Errorf("%g FLOP and %g B of experts, with a quarter of them twice %g and %g", flops,
			bytes, moreFLOPs, moreBytes)
	}
	for _, wrong := range []Parallelism{{Data: 8, Redundant: 7}, {Data: 8, Redundant: 65},
		{Tensor: 2, Redundant: 8}, {Data: 8, Redundant: -8}} {
		cfg.Parallel = wrong
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// Two-batch overlap hides a part of the exchange of prompts, and never makes a step shorter than
// either the exchange or the rest. Where all sequences decode it changes nothing.
func TestTwoBatchOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Model: deepseekLite(), Accelerator: h100(), ScaleUp: nvlink4,
			Network: network, Engine: Engines()[0]}
		cfg.Parallel.Data = rapid.SampledFrom([]int{2, 8, 32}).Draw(t, "ranks")
		plain := mustClock(t, cfg)
		cfg.Parallel.TwoBatch = true
		both, s := mustClock(t, cfg), anyStep(t)
		if s.Decodes+len(s.Prefill) == 0 {
			return
		}
		var exchange sim.Time
		for _, o := range plain.Breakdown(s) {
			if o.Name == "dispatch" || o.Name == "combine" {
				exchange += o.Time
			}
		}
		one, two := plain.Duration(s), both.Duration(s)
		if _, _, decodes := decoding(s); decodes && one != two {
			t.Fatalf("decoding takes %v, with overlap %v", one, two)
		}
		if two > one || two < max(exchange, one-exchange) {
			t.Fatalf("%v, of which the exchange takes %v; with overlap %v", one, exchange, two)
		}
		if sum := total(both.Breakdown(s)); sum != two {
			t.Fatalf("operators take %v together, the step %v", sum, two)
		}
	})
}

// operators returns the times of the operators that belong to a rank, and of the exchange.
func operators(c *Clock, s *sim.Step) map[string]sim.Time {
	times := map[string]sim.Time{}
	for _, o := range c.Breakdown(s) {
		if !strings.HasPrefix(o.Name, "expert_") && o.Bound != Host {
			times[o.Name] = o.Time
		}
	}
	return times
}

// Routed experts are stored once over all ranks, everything else once on each, and each rank has a
// cache.
func TestRanksShareExperts(t *testing.T) {
	plan := func(data int) MemoryPlan {
		p, err := Plan(MemoryConfig{Model: deepseekLite(), Accelerator: h100(),
			Parallel: Parallelism{Data: data}, Engine: Engines()[0], TokenBudget: 4096,
			Sequences: 256})
		testkit.OK(t, err)
		return p
	}
	one, eight := plan(1), plan(8)
	if eight.Experts*8 != one.Experts || eight.Weights-eight.Experts != one.Weights-one.Experts {
		t.Errorf("weights %g, of them experts %g; with eight ranks %g and %g", one.Weights,
			one.Experts, eight.Weights, eight.Experts)
	}
	if eight.Tokens != 8*eight.Blocks*eight.BlockTokens ||
		eight.Longest() != eight.Blocks*eight.BlockTokens || eight.Blocks <= one.Blocks {
		t.Errorf("%d blocks on each of eight ranks, %d tokens; %d blocks on one", eight.Blocks,
			eight.Tokens, one.Blocks)
	}
}
