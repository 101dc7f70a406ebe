package models

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// anArchitecture draws the shape of a small transformer of any kind.
func anArchitecture(t *rapid.T) *Architecture {
	number := func(least, most int, name string) int {
		return rapid.IntRange(least, most).Draw(t, name)
	}
	maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
	a := &Architecture{
		Name: "drawn", MaxContext: 4096, DType: hardware.FP16, Hidden: 8 * number(1, 64, "hidden"),
		Vocab:          number(1, 5000, "vocab"),
		TiedEmbeddings: maybe("tied"), HeadBias: maybe("head bias"), NormBias: maybe("norm bias"),
		NoFinalNorm:   maybe("no final norm"),
		EmbeddingNorm: maybe("embedding norm"), LearnedPositions: number(0, 64, "positions"),
		EmbeddingDim: 8 * number(0, 8, "embedding"),
	}
	for range number(1, 4, "groups") {
		g := Group{Count: number(1, 5, "layers"), Mixer: aMixer(t), MLP: anMLP(t),
			Norms: number(0, 4, "norms"), Parallel: maybe("parallel")}
		a.Groups = append(a.Groups, g)
	}
	return a
}

// aMixer draws any kind of token mixing.
func aMixer(t *rapid.T) Mixer {
	number := func(least, most int, name string) int {
		return rapid.IntRange(least, most).Draw(t, name)
	}
	maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
	kvHeads := 1 << number(0, 4, "kv heads")
	heads := kvHeads << number(0, 3, "group")
	switch rapid.SampledFrom([]string{"softmax", "window", "mla"}).Draw(t, "mixer") {
	case "mla":
		return &MLA{Heads: heads, QueryRank: number(0, 64, "query rank"),
			KVRank: number(1, 64, "kv rank"), RopeDim: number(0, 16, "rope"),
			NopeDim: number(1, 32, "nope"), ValueDim: number(1, 32, "value"),
			OutputGate: maybe("gate")}
	case "window":
		return &Softmax{Heads: heads, KVHeads: kvHeads, HeadDim: 8 * number(1, 8, "head dimension"),
			Window: number(1, 300, "window")}
	default:
		return &Softmax{Heads: heads, KVHeads: kvHeads, HeadDim: 8 * number(1, 8, "head dimension"),
			ValueDim: 8 * number(0, 4, "value"),
			QKNorm:   maybe("qk norm"), QKVBias: maybe("qkv bias"), OutBias: maybe("out bias"),
			Sinks:             maybe("sinks"),
			RelativePositions: maybe("relative positions"), OutputGate: maybe("gate")}
	}
}

// anMLP draws any kind of feed-forward network, or none.
func anMLP(t *rapid.T) MLP {
	number := func(least, most int, name string) int {
		return rapid.IntRange(least, most).Draw(t, name)
	}
	maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
	switch rapid.SampledFrom([]string{"dense", "experts", "none"}).Draw(t, "mlp") {
	case "dense":
		return &Dense{Intermediate: 16 * number(1, 64, "intermediate"), Gated: maybe("gated"),
			Bias: maybe("bias")}
	case "experts":
		m := &MoE{Experts: number(1, 32, "experts"), Intermediate: 16 * number(1, 16, "expert"),
			SharedIntermediate: 16 * number(0, 4, "shared"),
			Latent:             8 * number(0, 8, "latent"), Gated: maybe("gated"),
			SharedGate: maybe("gate"),
			RouterBias: maybe("router bias")}
		m.Active = number(1, m.Experts, "active")
		return m
	default:
		return nil
	}
}

// mustLoad returns the catalogue.
func mustLoad(t *testing.T) *Catalog {
	t.Helper()
	c, err := Load()
	testkit.OK(t, err)
	return c
}

// model returns a model of the catalogue.
func model(t *testing.T, name string) *Architecture {
	t.Helper()
	a, err := mustLoad(t).Lookup(name)
	testkit.OK(t, err)
	return a
}

// near reports a figure that is not within the fraction of the one wanted.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if got < want*(1-within) || got > want*(1+within) {
		t.Errorf("%s: %.6g, want %.6g within %g %%", what, got, want, 100*within)
	}
}
