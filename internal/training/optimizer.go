package training

import (
	"errors"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
)

// Optimizer says what an optimizer keeps of each parameter, in bytes.
type Optimizer struct {
	Name string
	// Master is the copy of the weights in 32 bits; 0 where the weights themselves are updated.
	Master float64
	// First and Second are the running means of gradients and of their squares.
	First, Second float64
	// Gradient is the sum of the gradients of a step.
	Gradient float64
	// Source says where the figures are from.
	Source string
}

// States returns the bytes a parameter that ZeRO stage 1 shares.
func (o *Optimizer) States() float64 { return o.Master + o.First + o.Second }

// Optimizers lists the optimizers that FindOptimizer knows; the first is the default.
func Optimizers() []Optimizer {
	return []Optimizer{
		{"adamw", 4, 4, 4, 4, "Rajbhandari et al., arXiv:1910.02054, section 3.1: K = 12; " +
			"gradients in 32 bits as in Megatron-LM, docs/user-guide/features/dist_optimizer.md"},
		{"adamw-16bit-gradients", 4, 4, 4, 2, "Rajbhandari et al., arXiv:1910.02054, section 3.1"},
		{"adamw-8bit", 4, 1, 1, 4, "Dettmers et al., arXiv:2110.02861: both means in 8 bits"},
		{"adamw-pure-16bit", 0, 2, 2, 2, "weights, means and gradients all in 16 bits " +
			"(pytorch/torchtune, README.md)"},
		{"adamw-8bit-pure-16bit", 0, 1, 1, 2, "adamw-pure-16bit with the means of adamw-8bit"},
		{"muon", 4, 4, 0, 4, "Jordan et al. 2024, as in DeepSpeed's blog of Muon: one mean of " +
			"the matrices; embeddings, which keep Adam's two, are counted as matrices"},
		{"lion", 4, 4, 0, 4, "Chen et al., arXiv:2302.06675, algorithm 2: one mean"},
		{"sgd", 4, 4, 0, 4, "stochastic gradient descent with momentum: one mean"},
		{"adafactor", 4, 0, 0, 4, "Shazeer and Stern, arXiv:1804.04235, section 3: rows and " +
			"columns of the second mean, which are neglected"},
	}
}

// FindOptimizer returns the optimizer of a name. The error offers the nearest one.
func FindOptimizer(name string) (Optimizer, error) {
	var names []string
	for _, o := range Optimizers() {
		names = append(names, o.Name)
	}
	if i := slices.Index(names, name); i >= 0 {
		return Optimizers()[i], nil
	}
	return Optimizer{}, errors.New(nearest.Unknown("optimizer", name, names))
}
