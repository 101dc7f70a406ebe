package calibration

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/models"
)

// Architecture describes a GPT-2 to the cost model. Its weights are held in fp32 unless a
// deployment says otherwise.
func Architecture(name string, c gpt2.Config) *models.Architecture {
	attention := &models.Softmax{Heads: c.Heads, KVHeads: c.Heads, HeadDim: c.HeadSize(),
		NoRotary: true}
	return &models.Architecture{
		Name: name, Hidden: c.Width,
		Groups:         models.Uniform(c.Layers, attention, &models.Dense{Intermediate: c.Inner}),
		Vocab:          c.Vocab,
		TiedEmbeddings: c.Tied, MaxContext: c.Context, LearnedPositions: c.Context,
		DType: hardware.FP32,
	}
}

// GPT2 returns the configuration with which the engine runs a model, or an error where it cannot.
func GPT2(a *models.Architecture) (gpt2.Config, error) {
	attention, mlp := a.Attends(), plainMLP(a)
	if a.LearnedPositions == 0 || len(a.Groups) != 1 || a.Groups[0].Parallel || attention == nil ||
		mlp == nil || attention.Window > 0 ||
		attention.KVHeads != attention.Heads || attention.HeadDim*attention.Heads != a.Hidden {
		return gpt2.Config{}, fmt.Errorf(
			"%s is no GPT-2, and the engine runs nothing else; take gpt-2-124m, or a config.json "+
				"of that family", a.Name)
	}
	c := gpt2.DefaultConfig()
	c.Vocab, c.Context, c.Width, c.Layers = a.Vocab, a.MaxContext, a.Hidden, a.Layers()
	c.Heads, c.Inner = attention.Heads, mlp.Intermediate
	c.Tied = a.TiedEmbeddings
	return c, c.Check()
}

// plainMLP returns the MLP with two matrices of the first layers, or nil where theirs is another.
func plainMLP(a *models.Architecture) *models.Dense {
	if m, ok := a.Groups[0].MLP.(*models.Dense); ok && !m.Gated {
		return m
	}
	return nil
}

// Format returns the kernels' name for a number format of weights.
func Format(d hardware.DType) (kernels.Format, error) { return kernels.ParseFormat(string(d)) }
