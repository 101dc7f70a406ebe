package models

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
)

// MLA is multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): the cache holds
// one latent vector and one rotary key a token and layer, shared by all heads and held by every
// GPU.
type MLA struct {
	Heads int
	// QueryRank is the rank of the query compression; 0 means that queries are not compressed.
	QueryRank int
	// KVRank is the width of the cached latent vector, RopeDim of the cached rotary key.
	KVRank, RopeDim int
	// NopeDim is the width of a head's non-rotary query and key, ValueDim of its value.
	NopeDim, ValueDim int
	// OutputGate reports whether a projection of the input gates the output (Kimi-K3).
	OutputGate bool
	// Indexer chooses the tokens that a query attends to; nil means all.
	Indexer *Indexer
}

var _ Mixer = (*MLA)(nil)

// linears implements part. The compressions are computed on every GPU, the rest is split by heads.
func (m *MLA) linears(hidden, tp int) []Linear {
	heads := split(m.Heads, tp)
	var ls []Linear
	add := func(name string, n, k int) {
		ls = append(ls, Linear{Name: name, N: n, K: k, Part: AttentionPart, Quantised: true})
	}
	if query := heads * (m.NopeDim + m.RopeDim); m.QueryRank != 0 {
		add("q_a", m.QueryRank, hidden)
		add("q_b", query, m.QueryRank)
	} else {
		add("q", query, hidden)
	}
	add("kv_a", m.KVRank+m.RopeDim, hidden)
	// Both compress the hidden vector: fused_qkv_a_proj in vLLM, fused_qkv_a_proj_with_mqa in
	// SGLang, and so in TensorRT-LLM.
	ls[len(ls)-1].Fused = m.QueryRank != 0
	rows := ExpandedRows
	if m.Indexer != nil {
		rows = AllRows // sparse kernels attend to the latent in prefill too
	}
	ls = append(ls, Linear{Name: "kv_b", N: heads * (m.NopeDim + m.ValueDim), K: m.KVRank,
		Part: AttentionPart, Rows: rows, Quantised: true})
	ls = append(ls, m.Indexer.linears(hidden, m.QueryRank)...)
	if m.OutputGate {
		add("gate", heads*m.ValueDim, hidden)
	}
	add("out", hidden, heads*m.ValueDim)
	return ls
}

func (m *MLA) nonMatrix(int, expertShare) nonMatrixParameters {
	return nonMatrixParameters{Norms: int64(m.QueryRank + m.KVRank),
		Biases: m.Indexer.nonMatrix()}
}

func (m *MLA) elementwise(_, tp int) []ElementwiseKernel {
	ks := []ElementwiseKernel{
		{Name: "rotary", Elements: product(2, split(m.Heads, tp)+1, m.RopeDim)}}
	ks = append(ks, m.Indexer.elementwise()...)
	if m.OutputGate {
		ks = append(ks, ElementwiseKernel{
			Name: "gate", Elements: product(3, split(m.Heads, tp), m.ValueDim)})
	}
	return ks
}

// attention implements Mixer. Decode works on the latent (DeepSeek-V2, section 2.1.2: the absorbed
// form), which costs more FLOPs and reads fewer bytes; prefill expands it to keys and values, but
// where an indexer chooses the tokens of each query anew.
func (m *MLA) attention(tp int, kv hardware.DType) []Attention {
	heads := float64(split(m.Heads, tp))
	dims := float64(m.NopeDim + m.RopeDim + m.ValueDim)
	l := Attention{
		PrefillFLOPs: 2 * heads * dims,
		DecodeFLOPs:  2 * heads * float64(2*m.KVRank+m.RopeDim),
		HeadFLOPs:    2 * dims,
		KVBytes:      float64(m.tokenBits(kv)) / 8,
		IOBytes:      heads * dims * float64(wideBytes(kv)),
		Latent:       true,
		Heads:        m.Heads / tp, KVHeads: m.Heads / tp, HeadDim: m.NopeDim + m.RopeDim,
	}
	if m.Indexer != nil {
		l.PrefillFLOPs, l.HeadFLOPs = l.DecodeFLOPs, 2*float64(2*m.KVRank+m.RopeDim)
	}
	return m.Indexer.choose(l, kv)
}

// tokenBits returns the size of the latent vector and rotary key of a token. Beside an index
// engines keep 656 bytes in FP8: a scale of 32 bits for each 128 elements of the vector, and the
// rotary key in 16 bits (vllm/v1/attention/backends/mla/flashmla_sparse.py, fp8_ds_mla).
func (m *MLA) tokenBits(kv hardware.DType) int64 {
	if kv == hardware.FP8 && m.Indexer != nil {
		return 8*int64(m.KVRank) + 32*int64((m.KVRank+127)/128) + 16*int64(m.RopeDim)
	}
	return cacheBits(kv, int64(m.KVRank+m.RopeDim))
}

func (m *MLA) state(_ int, kv hardware.DType) []State {
	return append([]State{{TokenBits: m.tokenBits(kv)}}, m.Indexer.states(kv)...)
}

func (m *MLA) fitsTensor(tp int, model string) error {
	if m.Heads%tp != 0 {
		return fmt.Errorf("does not divide the %d attention heads of %s", m.Heads, model)
	}
	return nil
}

func (m *MLA) sizes() ([]size, error) {
	ss := []size{
		{"heads", m.Heads, 1, 1 << 11},
		{"query rank", m.QueryRank, 0, 1 << 17}, {"KV rank", m.KVRank, 1, 1 << 17},
		{"rotary head dimension", m.RopeDim, 0, 1 << 11},
		{"non-rotary head dimension", m.NopeDim, 1, 1 << 11},
		{"value head dimension", m.ValueDim, 1, 1 << 11},
	}
	return append(ss, m.Indexer.sizes()...), nil
}
