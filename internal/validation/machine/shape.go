package machine

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/models"
)

// Architecture describes a GPT-2 to the cost model. Its weights are held in fp32 unless a deployment says otherwise.
func Architecture(name string, c gpt2.Config) *models.Architecture {
	return &models.Architecture{
		Name: name, Layers: c.Layers, Hidden: c.Width, Heads: c.Heads, KVHeads: c.Heads, HeadDim: c.HeadSize(),
		Intermediate: c.Inner, Vocab: c.Vocab, TiedEmbeddings: c.Tied, MaxContext: c.Context, LearnedPositions: c.Context,
		DType: hardware.FP32,
	}
}

// GPT2 returns the configuration with which the engine runs a model, or an error where it cannot.
func GPT2(a *models.Architecture) (gpt2.Config, error) {
	if a.LearnedPositions == 0 || a.GatedMLP || a.MLA != nil || a.MoE != nil || a.ParallelBlock || a.Window > 0 || a.KVHeads != a.Heads ||
		a.HeadDim*a.Heads != a.Hidden {
		return gpt2.Config{}, fmt.Errorf("%s is no GPT-2, and the engine runs nothing else; take gpt-2-124m, or a config.json of that family", a.Name)
	}
	c := gpt2.DefaultConfig()
	c.Vocab, c.Context, c.Width, c.Layers, c.Heads, c.Inner = a.Vocab, a.MaxContext, a.Hidden, a.Layers, a.Heads, a.Intermediate
	c.Tied = a.TiedEmbeddings
	return c, c.Check()
}

// Format returns the kernels' name for a number format of weights.
func Format(d hardware.DType) (kernels.Format, error) { return kernels.ParseFormat(string(d)) }
