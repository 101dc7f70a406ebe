package models

import (
	"testing"

	"github.com/llmsim/llmsim/hardware"
)

// llama2_70B is the shape of Llama-2-70B (arXiv:2307.09288, table 1; meta-llama/Llama-2-70b-hf/config.json).
func llama2_70B() *Architecture {
	return &Architecture{
		Name: "llama-2-70b", Family: "llama", Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128,
		Intermediate: 28672, Vocab: 32000, MaxContext: 4096, GatedMLP: true, DType: hardware.FP16,
	}
}

func TestLlama2_70B(t *testing.T) {
	a := llama2_70B()
	if got := a.Parameters().Total(); got != 68_976_648_192 {
		t.Errorf("%d parameters", got)
	}
	if got := a.KVBytesPerToken(hardware.FP16); got != 327_680 {
		t.Errorf("%d KV bytes a token", got)
	}
}
