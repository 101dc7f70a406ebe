package models

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// Rows says which rows of a step a linear layer computes.
type Rows int

const (
	// AllRows is every token of the step.
	AllRows Rows = iota
	// SampledRows is the tokens from which a next token is drawn: all that decode, and the last of
	// each completed prompt.
	SampledRows
	// RoutedRows is every token once for each routed expert that it visits.
	RoutedRows
	// ExpandedRows is every token and the cached tokens of prefill chunks, whose keys and values
	// MLA computes anew from the latent.
	ExpandedRows
)

// Linear is one matrix multiplication on one GPU: activations [M, K] times weights [K, N], where M
// depends on the step.
type Linear struct {
	// Name is "qkv", "out", "gate_up", "down", "lm_head", …
	Name string
	N, K int
	// Count is the number of layers that have it.
	Count int
	// Rows says how M follows from the step.
	Rows Rows
	// Experts is the number of routed experts that each have such a matrix, and Active how many of
	// them a token visits; 0 outside a mixture of experts.
	Experts, Active int
	// Spread is the unevenness with which the router chooses experts: see Routing.
	Spread float64
	// Quantised reports whether the weights follow the deployment's number format; others stay 16
	// bits wide.
	Quantised bool
	// Part is the group in which the weights are counted.
	Part Part
	// Own is the format in which the matrix is published, which holds in deployments whose weights
	// are as Published says.
	Own       Format
	Published hardware.DType
	// Fused is true of a product that engines compute in one kernel with the one before it, whose
	// input it shares.
	Fused bool
}

// Part is a component of a model to which parameters are counted.
type Part int

const (
	// OtherPart is counted with the embedding: the output head, and projections of a narrow
	// embedding.
	OtherPart Part = iota
	AttentionPart
	MLPPart
	RouterPart
	ExpertPart
	SharedPart
)

// M returns the number of rows that the layer computes in s. A matrix of routed experts has the sum
// over the experts.
func (l *Linear) M(s *sim.Step) int {
	switch l.Rows {
	case SampledRows:
		m := s.DecodeTokens
		for i := range s.Prefill {
			if s.Prefill[i].Last {
				m++
			}
		}
		return m
	case RoutedRows:
		return l.Active * s.Tokens()
	case ExpandedRows:
		m := s.DecodeTokens
		for i := range s.Prefill {
			m += s.Prefill[i].New + s.Prefill[i].Cached
		}
		return m
	default:
		return s.Tokens()
	}
}

// Matrices returns the expected number of weight matrices that a layer reads for m rows: 1, or the
// distinct experts visited.
func (l *Linear) Matrices(m int) float64 {
	if l.Rows != RoutedRows {
		return 1
	}
	return distinctExperts(l.Experts, l.Active, m/l.Active, l.Spread)
}

// Copied returns the matrix where there are the given copies of each expert on average, and a token
// visits one of them.
func (l Linear) Copied(copies float64) *Linear {
	l.Experts = int(math.Round(copies * float64(l.Experts)))
	return &l
}

// Weights returns the number of weights of one layer, of all its experts together.
func (l *Linear) Weights() int64 { return product(max(1, l.Experts), l.N, l.K) }

// Format returns how the matrix is stored in a deployment whose weights are stored as d.
func (l *Linear) Format(d hardware.DType) Format {
	switch {
	case !l.Quantised:
		return Format{DType: hardware.BF16, Bits: 8 * wideBytes(d)}
	case l.Own.Bits > 0 && l.Published == d:
		return l.Own
	default:
		return standardFormat(d)
	}
}

// MatrixBytes returns the bytes of one weight matrix in a deployment whose weights are stored as d.
func (l *Linear) MatrixBytes(d hardware.DType) int64 { return l.Format(d).Bytes(product(l.N, l.K)) }

// addLinear counts n layers that have l.
func addLinear(ls []Linear, l Linear, n int) []Linear {
	for i := range ls {
		if l.Count = ls[i].Count; ls[i] == l {
			ls[i].Count += n
			return ls
		}
	}
	l.Count = n
	return append(ls, l)
}

// mlp returns the matrices of a feed-forward network, or of experts, that are like l.
func mlp(l Linear, prefix string, hidden, intermediate int, gated bool, tp int) []Linear {
	up, down := l, l
	up.Name, up.N, up.K, up.Quantised = prefix+"up", split(intermediate, tp), hidden, true
	if gated {
		up.Name, up.N = prefix+"gate_up", 2*up.N
	}
	down.Name, down.N, down.K, down.Quantised = prefix+"down", hidden, split(intermediate, tp), true
	return []Linear{up, down}
}

// matrices returns the number of matrices of an MLP or expert: three when gated, else two.
func matrices(gated bool) int {
	if gated {
		return 3
	}
	return 2
}

// ElementwiseKernel is a kernel that moves activations and computes next to nothing.
type ElementwiseKernel struct {
	Name  string
	Count int
	// Elements is the number of activations that it reads and writes for one token.
	Elements int64
}

// ExpertActivation and ExpertCombine name the kernels between and after the products of routed
// experts. Norm names the kernels that normalise the residual.
const (
	Norm             = "norm"
	ExpertActivation = "expert_activation"
	ExpertCombine    = "expert_combine"
)

// addElementwise counts n layers that have k.
func addElementwise(ks []ElementwiseKernel, k ElementwiseKernel, n int) []ElementwiseKernel {
	for i := range ks {
		if ks[i].Name == k.Name && ks[i].Elements == k.Elements {
			ks[i].Count += n
			return ks
		}
	}
	k.Count = n
	return append(ks, k)
}
