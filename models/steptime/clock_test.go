package steptime

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Shapes and machines of the tests' own, so that the catalogues may change.
func llama8B() *models.Architecture {
	return &models.Architecture{Name: "llama-3.1-8b", Hidden: 4096, Vocab: 128256,
		MaxContext: 131072, DType: hardware.BF16,
		Groups: models.Uniform(32, &models.Softmax{Heads: 32, KVHeads: 8, HeadDim: 128},
			&models.Dense{Intermediate: 14336, Gated: true})}
}

func mixtral() *models.Architecture {
	return &models.Architecture{Name: "mixtral-8x7b", Hidden: 4096, Vocab: 32000, MaxContext: 32768,
		DType: hardware.BF16,
		Groups: models.Uniform(32, &models.Softmax{Heads: 32, KVHeads: 8, HeadDim: 128},
			&models.MoE{Experts: 8, Active: 2, Intermediate: 14336, Gated: true})}
}

func windowed() *models.Architecture {
	a := llama8B()
	a.Name = "windowed"
	window, mlp := *a.Attends(), a.Groups[0].MLP
	window.Window = 1024
	a.Groups = append(models.Uniform(16, &window, mlp), models.Uniform(16, a.Attends(), mlp)...)
	return a
}

func deepseekLite() *models.Architecture {
	attention := &models.MLA{Heads: 16, KVRank: 512, RopeDim: 64, NopeDim: 128, ValueDim: 128}
	experts := &models.MoE{Experts: 64, Active: 6, Shared: 2, Intermediate: 1408,
		SharedIntermediate: 2816, Gated: true}
	return &models.Architecture{Name: "deepseek-v2-lite", Hidden: 2048, Vocab: 102400,
		MaxContext: 32768, DType: hardware.BF16,
		Groups: append(models.Uniform(1, attention,
			&models.Dense{Intermediate: 10944, Gated: true}),
			models.Uniform(26, attention, experts)...)}
}

func h100() *hardware.Accelerator {
	return &hardware.Accelerator{Name: "h100-sxm", Kind: "gpu", Generation: "hopper",
		Memory: 80 * (1 << 30), Bandwidth: 3.35e12,
		Peak: map[hardware.DType]float64{hardware.BF16: 989.4e12, hardware.FP16: 989.4e12,
			hardware.FP8: 1979e12, hardware.INT8: 1979e12}, PerNode: 8}
}

var (
	nvlink4 = &hardware.Link{Name: "nvlink4", Bandwidth: 450e9}
	network = &hardware.Link{Name: "infiniband-ndr", Bandwidth: 50e9}
)

// anyConfig draws a model, a way to spread it and an engine.
func anyConfig(t *rapid.T) Config {
	cfg := Config{
		Model: rapid.SampledFrom([]*models.Architecture{llama8B(), mixtral(), windowed(),
			deepseekLite()}).Draw(t, "model"),
		Accelerator: h100(), ScaleUp: nvlink4, Network: network,
		Engine: rapid.SampledFrom(Engines()).Draw(t, "engine"),
		Weights: rapid.SampledFrom([]hardware.DType{"", hardware.FP8, hardware.INT4}).Draw(t,
			"weights"),
	}
	cfg.Parallel.Tensor = rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "tp")
	cfg.Parallel.Pipeline = rapid.IntRange(1, 3).Draw(t, "pp")
	cfg.Slowdown = rapid.SampledFrom([]float64{0, 1, 0.93, 1.2}).Draw(t, "slowdown")
	if experts := cfg.Model.Experts(); experts != nil {
		cfg.Parallel.Data = rapid.SampledFrom([]int{1, 2, 8, 16}).Draw(t, "dp")
		if experts.Experts%(cfg.Parallel.Tensor*cfg.Parallel.Data) != 0 {
			cfg.Parallel.Data = 1
		}
	}
	return cfg
}

func mustClock(t testkit.Test, cfg Config) *Clock {
	c, err := New(cfg)
	testkit.OK(t, err)
	return c
}

func anyStep(t *rapid.T) *sim.Step {
	s := &sim.Step{Decodes: rapid.IntRange(0, 300).Draw(t, "decodes")}
	tokens := rapid.IntRange(1, 4).Draw(t, "drafted")
	s.DecodeTokens = s.Decodes * tokens
	// Each token attends to itself at least.
	s.Context = int64(s.Decodes) * int64(rapid.IntRange(tokens, 9000).Draw(t, "context"))
	for range rapid.IntRange(0, 3).Draw(t, "chunks") {
		s.Prefill = append(s.Prefill, sim.Chunk{New: rapid.IntRange(1, 5000).Draw(t, "new"),
			Cached: rapid.IntRange(0, 5000).Draw(t, "cached"), Last: rapid.Bool().Draw(t, "last")})
	}
	return s
}

func TestDecodeFormEqualsDuration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := anyConfig(t)
		c, other := mustClock(t, cfg), mustClock(t, cfg)
		n := rapid.IntRange(1, 600).Draw(t, "n")
		context := int64(n) * int64(rapid.IntRange(1, 5000).Draw(t, "context"))
		form := c.Decode(n, context)
		if form.Through < context {
			t.Fatalf("Decode(%d, %d) holds through %d only", n, context, form.Through)
		}
		for range 20 {
			s := &sim.Step{Decodes: n, DecodeTokens: n, Context: context}
			// The breakdown knows nothing of forms.
			if got, want := form.At(context), total(other.Breakdown(s)); got != want ||
				other.Duration(s) != want {
				t.Fatalf("n=%d context=%d: form %d, breakdown %d, duration %d", n, context, got,
					want, other.Duration(s))
			}
			context = min(context+1+int64(rapid.IntRange(0, 100000).Draw(t, "more")), form.Through)
		}
	})
}

func TestBreakdownSumsToDuration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, s := mustClock(t, anyConfig(t)), anyStep(t)
		if s.Decodes+len(s.Prefill) == 0 {
			return
		}
		if got, want := total(c.Breakdown(s)), c.Duration(s); got != want {
			t.Fatalf("breakdown sums to %d ps, duration is %d ps", got, want)
		}
	})
}

func TestPredictingAllocatesNothing(t *testing.T) {
	c := mustClock(t, Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0]})
	decode := &sim.Step{Decodes: 40, DecodeTokens: 40, Context: 40 * 700}
	mixed := &sim.Step{Decodes: 40, DecodeTokens: 40, Context: 40 * 700,
		Prefill: []sim.Chunk{{New: 500, Last: true}}}
	if n := testing.AllocsPerRun(100,
		func() {
			c.Duration(decode)
			c.Duration(mixed)
			c.Decode(40,
				28000)
			c.Work(mixed)
		}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDuration(b *testing.B) {
	c := mustClock(b, Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0]})
	decode := &sim.Step{Decodes: 40, DecodeTokens: 40, Context: 40 * 700}
	mixed := &sim.Step{Decodes: 40, DecodeTokens: 40, Context: 40 * 700,
		Prefill: []sim.Chunk{{New: 500, Last: true}}}
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			c.Duration(decode)
		}
	})
	b.Run("mixed", func(b *testing.B) {
		for b.Loop() {
			c.Duration(mixed)
		}
	})
	b.Run("form", func(b *testing.B) {
		for b.Loop() {
			c.Decode(40, 28000)
		}
	})
}

// One token of a prompt after others that are stored costs what a token that decodes does: a
// request that was handed over joins, a static batch is fed.
func TestHandedOverTokenDecodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := mustClock(t, anyConfig(t))
		n, stored, context := rapid.IntRange(0, 600).Draw(t, "n"), rapid.IntRange(1, 9000).Draw(t,
			"stored"), rapid.IntRange(600, 100_000).Draw(t, "context")
		if n == 0 {
			context = 0
		}
		joins := sim.Step{Decodes: n, DecodeTokens: n, Context: int64(context),
			Prefill: []sim.Chunk{{New: 1, Cached: stored, Last: rapid.Bool().Draw(t, "last")}}}
		decodes := sim.Step{Decodes: n + 1, DecodeTokens: n + 1,
			Context: int64(context + stored + 1)}
		if a, b := c.Duration(&joins), c.Duration(&decodes); a != b {
			t.Fatalf("%v when it joins, %v when it decodes", a, b)
		}
		if sum := total(c.Breakdown(&joins)); sum != c.Duration(&joins) {
			t.Fatalf("operators sum to %v, the step takes %v", sum, c.Duration(&joins))
		}
	})
}

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
