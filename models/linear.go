package models

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// Rows tells which rows of a step a linear layer computes.
type Rows int

const (
	// AllRows is every token of the step.
	AllRows Rows = iota
	// SampledRows is the tokens from which a next token is drawn: all that decode, and the last of each completed prompt.
	SampledRows
	// RoutedRows is every token once for each routed expert that it visits.
	RoutedRows
	// ExpandedRows is every token and the cached tokens of prefill chunks, whose keys and values MLA computes anew from the latent.
	ExpandedRows
)

// Linear is one matrix multiplication on one GPU: activations [M, K] times weights [K, N], where M depends on the step.
type Linear struct {
	// Name is "qkv", "out", "gate_up", "down", "lm_head", …
	Name string
	N, K int
	// Count is the number of layers that have it.
	Count int
	// Rows tells how M follows from the step.
	Rows Rows
	// Experts is the number of routed experts that each have such a matrix, and Active how many of them a token visits; 0 outside
	// a mixture of experts.
	Experts, Active int
	// Quantised tells that the weights follow the deployment's number format; others stay 16 bits wide.
	Quantised bool
}

// M returns the number of rows that the layer computes in s. Those of routed experts are the sum over the experts.
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

// Matrices returns the expected number of weight matrices that a layer reads for m rows: 1, or the distinct experts visited.
func (l *Linear) Matrices(m int) float64 {
	if l.Rows != RoutedRows {
		return 1
	}
	return distinctExperts(l.Experts, l.Active, m/l.Active)
}

// Weights returns the number of weights of one layer, of all its experts together.
func (l *Linear) Weights() int64 { return product(max(1, l.Experts), l.N, l.K) }

// MatrixBytes returns the bytes of one weight matrix in a deployment whose weights are stored as d.
func (l *Linear) MatrixBytes(d hardware.DType) int64 {
	if l.Quantised {
		return quantisedBytes(product(l.N, l.K), d)
	}
	return product(l.N, l.K) * wideBytes(d)
}

// distinctExperts returns the expected number of distinct experts, of n, that m tokens visit when each visits k different ones
// at random: n·(1−(1−k/n)^m).
func distinctExperts(n, k, m int) float64 {
	return float64(n) * (1 - math.Pow(1-float64(k)/float64(n), float64(m)))
}

// LinearLayers lists the matrix multiplications of a step on one of tp GPUs, in the order of execution. Column-parallel
// matrices split N, row-parallel ones K (Megatron-LM, arXiv:1909.08053, section 3); experts are split like the MLP. The router
// and MLA's compressions are computed on every GPU. Sizes that tp does not divide are rounded up.
func (a *Architecture) LinearLayers(tp int) []Linear {
	ls := make([]Linear, 0, 16)
	if a.EmbeddingDim != 0 {
		ls = append(ls, Linear{Name: "project_in", N: a.Hidden, K: a.EmbeddingDim, Count: 1})
	}
	ls = a.appendAttentionLinears(ls, tp)
	if n := a.denseLayers(); n > 0 {
		ls = a.appendMLP(ls, Linear{Count: n}, "", a.Intermediate, tp)
	}
	if m := a.MoE; m != nil {
		n := a.Layers - m.DenseLayers
		ls = append(ls, Linear{Name: "router", N: m.Experts, K: a.Hidden, Count: n})
		ls = a.appendMLP(ls, Linear{Count: n, Rows: RoutedRows, Experts: m.Experts, Active: m.Active}, "expert_", m.Intermediate, tp)
		if m.SharedIntermediate > 0 {
			ls = a.appendMLP(ls, Linear{Count: n}, "shared_", m.SharedIntermediate, tp)
		}
		if m.SharedGate {
			ls = append(ls, Linear{Name: "shared_weight", N: 1, K: a.Hidden, Count: n})
		}
	}
	if a.EmbeddingDim != 0 {
		ls = append(ls, Linear{Name: "project_out", N: a.EmbeddingDim, K: a.Hidden, Count: 1})
	}
	return append(ls, Linear{Name: "lm_head", N: split(a.Vocab, tp), K: a.embeddingDim(), Count: 1, Rows: SampledRows})
}

// appendAttentionLinears appends the projections of attention.
func (a *Architecture) appendAttentionLinears(ls []Linear, tp int) []Linear {
	add := func(name string, n, k int) {
		ls = append(ls, Linear{Name: name, N: n, K: k, Count: a.Layers, Quantised: true})
	}
	heads := split(a.Heads, tp)
	m := a.MLA
	if m == nil {
		add("qkv", (heads+2*split(a.KVHeads, tp))*a.HeadDim, a.Hidden)
		add("out", a.Hidden, heads*a.HeadDim)
		return ls
	}
	if query := heads * (m.NopeDim + m.RopeDim); m.QueryRank != 0 {
		add("q_a", m.QueryRank, a.Hidden)
		add("q_b", query, m.QueryRank)
	} else {
		add("q", query, a.Hidden)
	}
	add("kv_a", m.KVRank+m.RopeDim, a.Hidden)
	ls = append(ls, Linear{Name: "kv_b", N: heads * (m.NopeDim + m.ValueDim), K: m.KVRank, Count: a.Layers, Rows: ExpandedRows, Quantised: true})
	add("out", a.Hidden, heads*m.ValueDim)
	return ls
}

// appendMLP appends the matrices of an MLP, or of experts, that are like l.
func (a *Architecture) appendMLP(ls []Linear, l Linear, prefix string, intermediate, tp int) []Linear {
	up, down := l, l
	up.Name, up.N, up.K, up.Quantised = prefix+"up", split(intermediate, tp), a.Hidden, true
	if a.GatedMLP {
		up.Name, up.N = prefix+"gate_up", 2*up.N
	}
	down.Name, down.N, down.K, down.Quantised = prefix+"down", a.Hidden, split(intermediate, tp), true
	return append(ls, up, down)
}

// AllReduces returns the number of all-reduces of a step under tensor parallelism, each of one hidden vector a token: after
// attention and after the MLP of each layer (once where they run in parallel), and after the split embedding.
func (a *Architecture) AllReduces() int {
	if a.ParallelBlock {
		return a.Layers + 1
	}
	return 2*a.Layers + 1
}

// split returns the larger share of n when it is split over tp GPUs.
func split(n, tp int) int { return (n + tp - 1) / tp }
