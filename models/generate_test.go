package models

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
)

// anArchitecture draws the shape of a small transformer of any kind.
func anArchitecture(t *rapid.T) *Architecture {
	number := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(t, name) }
	maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
	a := &Architecture{
		Name: "drawn", MaxContext: 4096, DType: hardware.FP16,
		Layers: number(1, 20, "layers"), Hidden: 8 * number(1, 64, "hidden"), Vocab: number(1, 5000, "vocab"),
		KVHeads: 1 << number(0, 4, "kv heads"), HeadDim: 8 * number(1, 8, "head dimension"),
		Intermediate: 16 * number(1, 64, "intermediate"), GatedMLP: maybe("gated"),
		TiedEmbeddings: maybe("tied"), ParallelBlock: maybe("parallel"), QKNorm: maybe("qk norm"),
		QKVBias: maybe("qkv bias"), OutBias: maybe("out bias"), MLPBias: maybe("mlp bias"), HeadBias: maybe("head bias"),
		NormBias: maybe("norm bias"), NormsPerLayer: number(0, 4, "norms"), NoFinalNorm: maybe("no final norm"),
		EmbeddingNorm: maybe("embedding norm"), AttentionSinks: maybe("sinks"), RelativePositions: maybe("relative positions"),
		LearnedPositions: number(0, 64, "positions"), EmbeddingDim: 8 * number(0, 8, "embedding"),
	}
	a.Heads = a.KVHeads << number(0, 3, "group")
	if maybe("window") {
		a.Window, a.WindowLayers = number(1, 300, "window"), number(0, a.Layers, "window layers")
	}
	if maybe("mla") {
		a.MLA = &MLA{QueryRank: number(0, 64, "query rank"), KVRank: number(1, 64, "kv rank"), RopeDim: number(0, 16, "rope"),
			NopeDim: number(1, 32, "nope"), ValueDim: number(1, 32, "value")}
		a.KVHeads, a.HeadDim = a.Heads, a.MLA.NopeDim+a.MLA.RopeDim
	}
	if maybe("moe") {
		a.MoE = &MoE{Experts: number(1, 32, "experts"), Intermediate: 16 * number(1, 16, "expert"),
			DenseLayers: number(0, a.Layers-1, "dense"), SharedIntermediate: 16 * number(0, 4, "shared"),
			SharedGate: maybe("gate"), RouterBias: maybe("router bias")}
		a.MoE.Active = number(1, a.MoE.Experts, "active")
	}
	return a
}

// mustLoad returns the catalogue.
func mustLoad(t *testing.T) *Catalog {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// model returns a model of the catalogue.
func model(t *testing.T, name string) *Architecture {
	t.Helper()
	a, err := mustLoad(t).Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// near reports a figure that is not within the fraction of the one wanted.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if got < want*(1-within) || got > want*(1+within) {
		t.Errorf("%s: %.6g, want %.6g within %g %%", what, got, want, 100*within)
	}
}
