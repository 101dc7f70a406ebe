package models

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
)

// Softmax is softmax attention whose query heads share KV heads in groups (Ainslie et al.,
// arXiv:2305.13245): multi-head with a KV head for each query head, multi-query with one.
type Softmax struct {
	Heads, KVHeads int
	// HeadDim is the width of a query and key, ValueDim the width of a value where it differs; 0
	// means HeadDim.
	HeadDim, ValueDim int
	// QueryRank is the rank of the compression of the queries, which has a norm (Step-3); 0 without
	// one.
	QueryRank int
	// Window is the number of last tokens that a token attends to, itself included; 0 means all.
	Window int
	// QKVBias and OutBias tell which projections have biases.
	QKVBias, OutBias bool
	// QKNorm adds a norm to the queries and keys of each head; WideQKNorm one to the queries and
	// keys of all heads together (MiniMax-M2).
	QKNorm, WideQKNorm bool
	// Sinks reports whether each head has a learned logit that takes part in its softmax (gpt-oss).
	Sinks bool
	// OutputGate reports whether a projection as wide as the queries gates the output (Qwen3-Next,
	// arXiv:2505.06708).
	OutputGate bool
	// HeadGate reports whether a projection with one output a head gates the output (Laguna).
	HeadGate bool
	// SharedKeyValue reports whether values are projected by the matrix of the keys (Gemma 4). Both
	// are cached.
	SharedKeyValue bool
	// SharedCache reports whether the layer reads keys and values of an earlier one (Gemma 4 E2B),
	// and projects and stores none of its own.
	SharedCache bool
	// RelativePositions reports whether the layer projects relative positions to keys
	// (Transformer-XL, arXiv:1901.02860, section 3.3: W_kR), as Gopher and Chinchilla do.
	RelativePositions bool
	// Indexer chooses the tokens that a query attends to; nil means all.
	Indexer *Indexer
	// NoRotary reports whether queries and keys are not rotated.
	NoRotary bool
}

var _ Mixer = (*Softmax)(nil)

func (m *Softmax) valueDim() int {
	if m.ValueDim != 0 {
		return m.ValueDim
	}
	return m.HeadDim
}

// linears implements part: Megatron-LM's split (arXiv:1909.08053, section 3), the projections of
// queries, keys and values by heads, the projection of the output by rows.
func (m *Softmax) linears(hidden, tp int) []Linear {
	heads, kvHeads := split(m.Heads, tp), split(m.KVHeads, tp)
	if m.SharedCache {
		kvHeads = 0
	}
	width := heads*m.HeadDim + kvHeads*m.HeadDim
	if m.QueryRank > 0 { // computed on every GPU
		width = m.QueryRank + kvHeads*m.HeadDim
	}
	if !m.SharedKeyValue {
		width += kvHeads * m.valueDim()
	}
	ls := []Linear{{Name: "qkv", N: width, K: hidden, Part: AttentionPart, Quantised: true}}
	if m.QueryRank > 0 {
		ls = append(ls, Linear{Name: "q_b", N: heads * m.HeadDim, K: m.QueryRank,
			Part: AttentionPart, Quantised: true})
	}
	if m.OutputGate {
		ls = append(ls, Linear{Name: "gate", N: heads * m.valueDim(), K: hidden,
			Part: AttentionPart, Quantised: true})
	}
	if m.HeadGate {
		ls = append(ls, Linear{Name: "gate", N: heads, K: hidden, Part: AttentionPart,
			Quantised: true})
	}
	ls = append(ls, m.Indexer.linears(hidden, 0)...)
	return append(ls, Linear{Name: "out", N: hidden, K: heads * m.valueDim(), Part: AttentionPart,
		Quantised: true})
}

func (m *Softmax) nonMatrix(hidden int, _ expertShare) nonMatrixParameters {
	p := nonMatrixParameters{Norms: int64(m.QueryRank)}
	if m.QKNorm {
		p.Norms += product(2, m.HeadDim)
		if m.SharedCache {
			p.Norms -= int64(m.HeadDim)
		}
	}
	if m.WideQKNorm {
		p.Norms += product(m.Heads+m.KVHeads, m.HeadDim)
	}
	if m.QKVBias {
		p.Biases += product(m.Heads+m.KVHeads, m.HeadDim) + product(m.KVHeads, m.valueDim())
	}
	if m.OutBias {
		p.Biases += int64(hidden)
	}
	if m.Sinks {
		p.Biases += int64(m.Heads)
	}
	p.Biases += m.Indexer.nonMatrix()
	if m.RelativePositions {
		p.Positions = product(hidden, m.Heads, m.HeadDim)
	}
	return p
}

func (m *Softmax) elementwise(_, tp int) []ElementwiseKernel {
	qk := product(2, split(m.Heads, tp)+split(m.KVHeads, tp), m.HeadDim)
	var ks []ElementwiseKernel
	if m.QKNorm || m.WideQKNorm {
		ks = append(ks, ElementwiseKernel{Name: "qk_norm", Elements: qk})
	}
	if !m.NoRotary {
		ks = append(ks, ElementwiseKernel{Name: "rotary", Elements: qk})
	}
	if m.OutputGate || m.HeadGate {
		ks = append(ks, ElementwiseKernel{
			Name: "gate", Elements: product(3, split(m.Heads, tp), m.valueDim())})
	}
	return ks
}

func (m *Softmax) attention(tp int, kv hardware.DType) []Attention {
	heads := float64(split(m.Heads, tp))
	flops := 2 * heads * float64(m.HeadDim+m.valueDim())
	l := Attention{
		Window:       m.Window,
		PrefillFLOPs: flops,
		DecodeFLOPs:  flops,
		HeadFLOPs:    2 * float64(m.HeadDim+m.valueDim()),
		KVBytes:      float64(m.tokenBits(tp, kv)) / 8,
		IOBytes:      heads * float64(m.HeadDim+m.valueDim()) * float64(wideBytes(kv)),
		Heads:        m.Heads / tp, KVHeads: max(1, m.KVHeads/tp), HeadDim: m.HeadDim,
	}
	return m.Indexer.choose(l, kv)
}

// tokenBits returns the bits that a token stores on one of tp GPUs. KV heads are split; once tp
// exceeds their number each GPU holds a copy of one.
func (m *Softmax) tokenBits(tp int, kv hardware.DType) int64 {
	return cacheBits(kv, product(split(m.KVHeads, tp), m.HeadDim+m.valueDim()))
}

func (m *Softmax) state(tp int, kv hardware.DType) []State {
	if m.SharedCache {
		return nil
	}
	ss := []State{{TokenBits: m.tokenBits(tp, kv), Window: m.Window}}
	return append(ss, m.Indexer.states(kv)...)
}

func (m *Softmax) fitsTensor(tp int, model string) error {
	switch {
	case m.Heads%tp != 0:
		return fmt.Errorf("does not divide the %d attention heads of %s", m.Heads, model)
	case m.KVHeads%tp != 0 && tp%m.KVHeads != 0:
		return fmt.Errorf("neither divides the %d KV heads of %s nor is a multiple of them",
			m.KVHeads, model)
	}
	return nil
}

func (m *Softmax) sizes() ([]size, error) {
	ss := []size{
		{"heads", m.Heads, 1, 1 << 11}, {"KV heads", m.KVHeads, 1, 1 << 11},
		{"head dimension", m.HeadDim, 1, 1 << 11},
		{"value head dimension", m.ValueDim, 0, 1 << 11}, {"window", m.Window, 0, 1 << 30},
		{"query rank", m.QueryRank, 0, 1 << 17},
	}
	ss = append(ss, m.Indexer.sizes()...)
	if m.KVHeads > 0 && m.Heads%m.KVHeads != 0 {
		return ss, fmt.Errorf("KV heads: found %d, want a divisor of the %d query heads", m.KVHeads,
			m.Heads)
	}
	return ss, nil
}
