package models

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
)

// Compressed is the attention of DeepSeek-V4 (deepseek-ai/DeepSeek-V4-Flash, inference/model.py):
// every layer sees the last tokens as they are, and all before them through one entry for a number
// of tokens. The one key of a token is its value too.
type Compressed struct {
	Heads, HeadDim, RopeDim int
	// QueryRank is the rank of the queries, OutputRank the rank of the output in each of
	// OutputGroups.
	QueryRank, OutputRank, OutputGroups int
	// Window is the number of last tokens that are kept as they are.
	Window int
	// Ratio is the number of tokens that an entry compresses; 0 means that there are no entries.
	Ratio int
	// Indexer chooses entries; nil means all. Its TopK counts entries.
	Indexer *Indexer
}

var _ Mixer = (*Compressed)(nil)

// overlapped is the ratio at which neighbouring entries share tokens, so that a compressor has two
// halves.
const overlapped = 4

func (m *Compressed) linears(hidden, tp int) []Linear {
	heads, groups := split(m.Heads, tp), split(m.OutputGroups, tp)
	var ls []Linear
	add := func(name string, n, k int) {
		ls = append(ls, Linear{Name: name, N: n, K: k, Part: AttentionPart, Quantised: true})
	}
	add("q_a", m.QueryRank, hidden)
	add("q_b", heads*m.HeadDim, m.QueryRank)
	add("kv", m.HeadDim, hidden)
	if m.Ratio > 0 {
		ls = append(ls, m.compressor("compress", m.HeadDim, hidden))
	}
	if x := m.Indexer; x != nil {
		add("index_q", x.Heads*x.Dim, m.QueryRank)
		ls = append(ls, Linear{Name: "index_weights", N: x.Heads, K: hidden, Part: AttentionPart},
			m.compressor("index_compress", x.Dim, hidden))
	}
	add("out_a", groups*m.OutputRank, m.Heads/m.OutputGroups*m.HeadDim)
	add("out_b", hidden, groups*m.OutputRank)
	return ls
}

// compressor returns the projection of values and their weights, in 16 bits.
func (m *Compressed) compressor(name string, dim, hidden int) Linear {
	return Linear{Name: name, N: 2 * m.halves() * dim, K: hidden, Part: AttentionPart}
}

func (m *Compressed) halves() int {
	if m.Ratio == overlapped {
		return 2
	}
	return 1
}

func (m *Compressed) nonMatrix(int, expertShare) nonMatrixParameters {
	p := nonMatrixParameters{Norms: int64(m.QueryRank + m.HeadDim), Biases: int64(m.Heads)}
	dims := 0
	if m.Ratio > 0 {
		dims = m.HeadDim
	}
	if m.Indexer != nil {
		dims += m.Indexer.Dim
	}
	p.Norms += int64(dims)
	p.Biases += product(m.Ratio, m.halves(), dims)
	return p
}

func (m *Compressed) elementwise(_, tp int) []ElementwiseKernel {
	return []ElementwiseKernel{
		{Name: "rotary", Elements: product(2, 2*split(m.Heads, tp)+1, m.RopeDim)}}
}

// attention implements Mixer: the window, the scan of the index, and the entries, which each cost a
// token the Ratioth part.
func (m *Compressed) attention(tp int, kv hardware.DType) []Attention {
	heads := float64(split(m.Heads, tp))
	flops := 4 * heads * float64(m.HeadDim)
	window := Attention{
		Window: m.Window, PrefillFLOPs: flops, DecodeFLOPs: flops,
		HeadFLOPs: 4 * float64(m.HeadDim),
		KVBytes:   float64(m.entryBits(kv)) / 8, IOBytes: 2 * heads * float64(m.HeadDim) * float64(
			wideBytes(kv)), Latent: true,
		Heads: m.Heads / tp, KVHeads: 1, HeadDim: m.HeadDim,
	}
	if m.Ratio == 0 {
		return []Attention{window}
	}
	entries := window.shared(m.Ratio)
	entries.Window, entries.IOBytes = 0, 0
	if m.Indexer == nil {
		return []Attention{entries, window}
	}
	chosen := m.Indexer.choose(entries, kv)
	chosen[0] = chosen[0].shared(m.Ratio)
	chosen[1].Window *= m.Ratio
	return append(chosen, window)
}

// shared returns the work where one entry compresses the given number of tokens.
func (l Attention) shared(tokens int) Attention {
	l.PrefillFLOPs /= float64(tokens)
	l.DecodeFLOPs /= float64(tokens)
	l.HeadFLOPs /= float64(tokens)
	l.KVBytes /= float64(tokens)
	return l
}

func (m *Compressed) entryBits(kv hardware.DType) int64 {
	return cacheBits(kv, int64(m.HeadDim))
}

func (m *Compressed) state(_ int, kv hardware.DType) []State {
	ss := []State{{TokenBits: m.entryBits(kv), Window: m.Window}}
	if m.Ratio > 0 {
		ss = append(ss, State{TokenBits: m.entryBits(kv), Every: m.Ratio})
	}
	for _, s := range m.Indexer.states(kv) {
		s.Every = m.Ratio
		ss = append(ss, s)
	}
	return ss
}

func (m *Compressed) fitsTensor(tp int, model string) error {
	if m.Heads%tp != 0 || m.OutputGroups%tp != 0 {
		return fmt.Errorf("does not divide the %d attention heads and %d groups of the "+
			"output of %s", m.Heads, m.OutputGroups, model)
	}
	return nil
}

func (m *Compressed) sizes() ([]size, error) {
	ss := []size{
		{"heads", m.Heads, 1, 1 << 11}, {"head dimension", m.HeadDim, 1, 1 << 11},
		{"rotary head dimension", m.RopeDim, 0, 1 << 11},
		{"query rank", m.QueryRank, 1, 1 << 17}, {"output rank", m.OutputRank, 1, 1 << 17},
		{"output groups", m.OutputGroups, 1, 1 << 11},
		{"window", m.Window, 1, 1 << 30}, {"compression ratio", m.Ratio, 0, 1 << 20},
	}
	if m.OutputGroups > 0 && m.Heads%m.OutputGroups != 0 {
		return ss, fmt.Errorf("output groups: found %d, want a divisor of the %d heads",
			m.OutputGroups, m.Heads)
	}
	return append(ss, m.Indexer.sizes()...), nil
}
