package models

import (
	"testing"

	"pgregory.net/rapid"
)

// The matrices that a step multiplies by are all parameters but norms, biases, positions and the
// embedding's table.
func TestMatricesAreTheParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		p := a.Parameters()
		want := p.Total() - p.Norms - p.Biases - p.Positions
		if !a.TiedEmbeddings {
			want -= product(a.Vocab, a.embeddingDim())
		}
		var got int64
		for _, l := range a.LinearLayers(1) {
			got += l.Weights() * int64(l.Count)
		}
		if got != want {
			t.Fatalf("matrices have %d weights, parameters say %d: %+v", got, want, p)
		}
	})
}

// A token's path has all parameters but those of the experts that it does not visit.
func TestActiveParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		all, active := a.Parameters(), a.ActiveParameters()
		var want int64
		for _, l := range a.LinearLayers(1) {
			if l.Part == ExpertPart {
				want += product(l.Count, l.Active, l.N, l.K)
			}
		}
		if active.Experts != want {
			t.Fatalf("the experts that a token visits have %d parameters, want %d", active.Experts,
				want)
		}
		all.Experts = active.Experts
		if active != all {
			t.Fatalf("active %+v, all %+v", active, all)
		}
	})
}

// Published counts of the parameters that a token visits, in billions as printed.
func TestPublishedActiveParameters(t *testing.T) {
	for _, c := range []struct {
		model, source string
		billions      float64
	}{
		{"mixtral-8x7b", "arXiv:2401.04088, section 1", 13},
		{"mixtral-8x22b", "mistral.ai, Cheaper, Better, Faster, Stronger, 2024", 39},
		{"qwen3-30b-a3b", "arXiv:2505.09388, section 2", 3.3},
		{"qwen3-235b-a22b", "arXiv:2505.09388, section 2", 22},
		{"deepseek-v2", "arXiv:2405.04434, section 1", 21},
		{"deepseek-v3", "arXiv:2412.19437, section 1", 37},
		{"llama-4-scout", "meta-llama/Llama-4-Scout-17B-16E model card", 17},
	} {
		near(t, c.model+" ("+c.source+")",
			float64(model(t, c.model).ActiveParameters().Total())/1e9, c.billions, 0.03)
	}
}

// kipply, "Transformer Inference Arithmetic" (2022): a model of 64 layers of width 8192 takes
// 24·64·8192² FLOPs a token.
func TestKipplyFLOPs(t *testing.T) {
	a := kipply52B()
	p := a.Parameters()
	if got := 2 * (p.Attention + p.MLP); got != 103_079_215_104 {
		t.Errorf("%d FLOPs a token", got)
	}
	near(t, "parameters", float64(p.Total()), 52e9, 0.01)
}

// kipply52B is the model of kipply's worked examples.
func kipply52B() *Architecture {
	return &Architecture{Name: "kipply-52b", Hidden: 8192, Vocab: 50257, MaxContext: 2048,
		Groups: Uniform(64, &Softmax{Heads: 64, KVHeads: 64, HeadDim: 128},
			&Dense{Intermediate: 32768})}
}

// DistServe (OSDI 2024) profiles 66,144 KV tokens for OPT-13B on one A100-80GB and 163,008 on two
// pipeline stages. A second GPU's memory less the first one's KV cache is what the weights take:
// exactly the matrices of the layers.
func TestDistServeWeights(t *testing.T) {
	a := model(t, "opt-13b")
	perToken := a.KVBytesPerToken(a.DType)
	weights := (163_008-66_144)*perToken - 66_144*perToken
	p := a.Parameters()
	if got := 2 * (p.Attention + p.MLP); got != weights {
		t.Errorf("layers take %d bytes, DistServe's capacities leave room for %d", got, weights)
	}
}
