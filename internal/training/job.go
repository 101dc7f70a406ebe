// Package training computes what it costs to train a language model: the memory of each accelerator
// line by line, the time of a step by part, and the days, dollars and energy of a run with its
// failures. Models, accelerators and links come from the simulator of serving.
//
// A Job says what is trained on what, and Compute returns its Cost. Formulas are closed, since all
// accelerators do the same work at the same time; only the answers of reinforcement learning are
// simulated, by Rollout.
package training

import (
	"errors"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/models"
)

// Job is a model that is trained on accelerators.
type Job struct {
	Model   *models.Architecture
	Machine Machine
	// GPUs is the number of accelerators, Tokens the number of tokens to train on, in all.
	GPUs   int
	Tokens float64
	// Batch is the number of sequences of a step over all accelerators, Seq the tokens of each.
	Batch, Seq int
	Layout     Layout
	// Precision is the number format of the matrix products: BF16, FP16, FP8 or FP4. The gradients
	// are summed in 32 bits with any of them.
	Precision hardware.DType
	Optimizer Optimizer
	// Method is how the weights learn.
	Method Method
	// Attention is how attention is computed.
	Attention Attention
	// Eager reports whether element-wise kernels run one by one, as frameworks do without a
	// compiler or kernels of their own.
	Eager bool
	// Overlap reports whether exchanges of tensor ranks run beside products.
	Overlap bool
	// ChunkedLoss reports whether the loss is computed for a part of the tokens at a time, so that
	// not all logits are kept.
	ChunkedLoss bool
	// Dropout reports whether masks of dropout are kept, as models of 2019 to 2022 had them.
	Dropout bool

	// counted is the parameters of Model where a search has counted them once for all its layouts.
	counted *models.Parameters
}

// Layout spreads a job over accelerators and over time.
type Layout struct {
	// Tensor, Context, Pipeline and Data are the numbers of ranks of each dimension, whose product
	// is the number of accelerators. Expert is the number of accelerators over which the experts
	// of a layer are spread; it divides Tensor·Context·Data.
	Tensor, Context, Pipeline, Data, Expert int
	// Micro is the number of sequences of a micro-batch.
	Micro int
	// Virtual is the number of chunks of layers of a stage (Narayanan et al., arXiv:2104.04473,
	// section 2.2.2); 1 is the plain schedule.
	Virtual int
	// Schedule is the order in which stages compute.
	Schedule Schedule
	// ZeRO is the stage of Rajbhandari et al., arXiv:1910.02054: 0 copies everything to all data
	// ranks, 1 shares the optimizer's states, 2 gradients too, 3 weights too (FSDP).
	ZeRO int
	// Shard is the number of data ranks over which ZeRO shares, the others holding copies (hybrid
	// sharding: Zhao et al., arXiv:2304.11277, section 3.2.2); 0 means all.
	Shard int
	// Recompute names the activations that the backward pass computes again.
	Recompute Recompute
	// Sequence reports whether tensor ranks share what is computed for each token by itself
	// (Korthikanti et al., arXiv:2205.05198, section 4.2.2).
	Sequence bool
}

// MicroBatches returns how many micro-batches a rank computes in a step of batch sequences.
func (l *Layout) MicroBatches(batch int) int { return batch / (l.Data * l.Micro) }

// Recompute names the activations that the backward pass computes again instead of keeping them.
type Recompute string

// The kinds of recomputation of Korthikanti et al., arXiv:2205.05198.
const (
	// NoRecompute keeps everything.
	NoRecompute Recompute = "none"
	// Selective computes the scores of attention again (section 5). Flash attention always does.
	Selective Recompute = "selective"
	// Full keeps the input of each layer only (Chen et al., arXiv:1604.06174).
	Full Recompute = "full"
)

// Schedule is the order of the stages of a pipeline.
type Schedule string

const (
	// OneForwardOneBackward is 1F1B (PipeDream-Flush), interleaved where a stage has several
	// chunks (Narayanan et al., arXiv:2104.04473, section 2.2).
	OneForwardOneBackward Schedule = "1f1b"
	// ZeroBubble delays the gradients of weights into the bubble: ZB-H1 of Qi et al.,
	// arXiv:2401.10241, section 2.
	ZeroBubble Schedule = "zero-bubble"
)

// Attention is how attention is computed.
type Attention string

const (
	// Flash keeps no scores, and computes them again in the backward pass (Dao, arXiv:2307.08691).
	Flash Attention = "flash"
	// Flash1 and Flash2 are its first versions.
	Flash1 Attention = "flash-1"
	Flash2 Attention = "flash-2"
	// Stored writes all scores to memory, as programs did before.
	Stored Attention = "stored"
)

// Method is how the weights learn.
type Method string

const (
	// Pretrain updates all weights; supervised fine-tuning does the same on other tokens.
	Pretrain Method = "pretrain"
	// SFT is supervised fine-tuning of all weights.
	SFT Method = "sft"
	// LoRA updates small matrices beside frozen weights (Hu et al., arXiv:2106.09685).
	LoRA Method = "lora"
	// DPO compares a chosen and a rejected answer under the model and a frozen copy (Rafailov et
	// al., arXiv:2305.18290, equation 7).
	DPO Method = "dpo"
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
