package models

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// Kind tells what a kernel does, and with that what its time depends on.
type Kind string

// The kinds of operator.
const (
	GEMM             Kind = "gemm"
	ExpertGEMM       Kind = "expert-gemm"
	PrefillAttention Kind = "prefill-attention"
	DecodeAttention  Kind = "decode-attention"
	Elementwise      Kind = "elementwise"
)

// Operator is one kernel of a step on one GPU.
type Operator struct {
	Name string
	Kind Kind
	// Count is how often the step runs it: the number of layers that have it.
	Count int
	// M, N and K are the shape of a GEMM, [M, K] times [K, N]. M of an expert GEMM is the sum over the experts, and Matrices the
	// expected number of them that are read.
	M, N, K  int
	Matrices float64
	// FLOPs and the bytes moved are of one run, each operand read or written once.
	FLOPs, WeightBytes, ActivationBytes, KVBytes float64
}

// Bytes returns all bytes that one run moves.
func (o *Operator) Bytes() float64 { return o.WeightBytes + o.ActivationBytes + o.KVBytes }

// AppendOperators appends the operators of step s on one of tp GPUs to ops, in the order of a layer. Weights are stored as w,
// the cache as kv.
func (a *Architecture) AppendOperators(ops []Operator, s *sim.Step, tp int, w, kv hardware.DType) []Operator {
	for _, l := range a.LinearLayers(tp) {
		if m := l.M(s); m > 0 {
			ops = append(ops, l.operator(m, w))
		}
	}
	for _, l := range a.AttentionLayers(tp, kv) {
		ops = l.appendOperators(ops, s)
	}
	for _, e := range a.ElementwiseKernels(tp) {
		ops = append(ops, Operator{Name: e.Name, Kind: Elementwise, Count: e.Count, ActivationBytes: float64(s.Tokens()) * float64(e.Elements*wideBytes(w))})
	}
	return ops
}

// operator returns the GEMM of m rows with weights stored as w.
func (l *Linear) operator(m int, w hardware.DType) Operator {
	kind := GEMM
	if l.Rows == RoutedRows {
		kind = ExpertGEMM
	}
	matrices := l.Matrices(m)
	return Operator{
		Name: l.Name, Kind: kind, Count: l.Count,
		M: m, N: l.N, K: l.K, Matrices: matrices,
		FLOPs:           2 * float64(m) * float64(l.N) * float64(l.K),
		WeightBytes:     matrices * float64(l.MatrixBytes(w)),
		ActivationBytes: float64(m) * float64(l.N+l.K) * float64(wideBytes(w)),
	}
}

// appendOperators appends the attention of all prefill chunks, and that of all sequences that decode.
func (l *Attention) appendOperators(ops []Operator, s *sim.Step) []Operator {
	suffix := ""
	if l.Window > 0 {
		suffix = "_window"
	}
	add := func(name string, kind Kind, w AttentionWork) {
		ops = append(ops, Operator{Name: name + suffix, Kind: kind, Count: l.Count, FLOPs: w.FLOPs, ActivationBytes: w.IO, KVBytes: w.KVRead + w.KVWritten})
	}
	if len(s.Prefill) > 0 {
		var sum AttentionWork
		for i := range s.Prefill {
			w := l.Prefill(s.Prefill[i].New, s.Prefill[i].Cached)
			sum.FLOPs += w.FLOPs
			sum.KVRead += w.KVRead
			sum.KVWritten += w.KVWritten
			sum.IO += w.IO
		}
		add("attention_prefill", PrefillAttention, sum)
	}
	if s.Decodes > 0 {
		add("attention_decode", DecodeAttention, l.Decode(s.Decodes, s.DecodeTokens, s.Context))
	}
	return ops
}

// ElementwiseKernel is a kernel that moves activations and computes next to nothing.
type ElementwiseKernel struct {
	Name  string
	Count int
	// Elements is the number of activations that it reads and writes for one token.
	Elements int64
}

// ElementwiseKernels lists the element-wise kernels of a step on one of tp GPUs, fused as engines do: the residual is added
// by the norm that follows (reads and writes both), rotation is in place, and the activation multiplies the gate.
func (a *Architecture) ElementwiseKernels(tp int) []ElementwiseKernel {
	norms := a.Layers * a.normsPerLayer()
	if !a.NoFinalNorm {
		norms++
	}
	if a.EmbeddingNorm {
		norms++
	}
	qk := product(2, split(a.Heads, tp)+split(a.KVHeads, tp), a.HeadDim)
	if m := a.MLA; m != nil {
		qk = product(2, split(a.Heads, tp)+1, m.RopeDim)
	}
	ks := make([]ElementwiseKernel, 0, 8)
	ks = append(ks,
		ElementwiseKernel{"embedding", 1, product(2, a.Hidden)},
		ElementwiseKernel{"norm", norms, product(4, a.Hidden)})
	if a.QKNorm {
		ks = append(ks, ElementwiseKernel{"qk_norm", a.Layers, qk})
	}
	if a.LearnedPositions == 0 {
		ks = append(ks, ElementwiseKernel{"rotary", a.Layers, qk})
	}
	if n := a.denseLayers(); n > 0 {
		ks = append(ks, ElementwiseKernel{"activation", n, product(a.mlpMatrices(), split(a.Intermediate, tp))})
	}
	if m := a.MoE; m != nil {
		width := m.Active*split(m.Intermediate, tp) + split(m.SharedIntermediate, tp)
		ks = append(ks,
			ElementwiseKernel{"expert_activation", a.Layers - m.DenseLayers, product(a.mlpMatrices(), width)},
			ElementwiseKernel{"expert_combine", a.Layers - m.DenseLayers, product(m.Active+1, a.Hidden)})
	}
	return ks
}
