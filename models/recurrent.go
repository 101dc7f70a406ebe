package models

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
)

// Recurrent is a mixer that keeps a matrix of fixed size a head instead of keys and values: linear
// attention with gates and the delta rule, or a state-space layer. Prompts are computed in chunks
// (Yang et al., arXiv:2312.06635, section 4).
type Recurrent struct {
	Kind RecurrentKind
	// Heads is the number of state matrices, of KeyDim × ValueDim each. KeyHeads is the number of
	// heads of queries and keys (of groups, in Mamba-2), which they share.
	Heads, KeyHeads  int
	KeyDim, ValueDim int
	// Conv is the width of the causal convolution before the state, which keeps Conv−1 inputs; 0
	// without one.
	Conv int
	// ConvBias reports whether it has a bias.
	ConvBias bool
	// GateRank is the rank of the projections of the gates of KDA; 0 means that the output gate is
	// projected in full.
	GateRank int
	// FullGate reports whether the output gate of KDA has full rank.
	FullGate bool
	// QKNorm adds a norm to the queries and keys of each head of lightning attention (Ring-linear).
	QKNorm bool
	// ProjectionBias reports whether the projections have biases.
	ProjectionBias bool
	// StateType is the number format of the state.
	StateType hardware.DType
}

// chunkTokens is the number of tokens that are computed together in prompts:
// flash-linear-attention's 64.
const chunkTokens = 64

var _ Mixer = (*Recurrent)(nil)

// queries and values return the widths of all queries (or keys), and of all values, on one of tp
// GPUs.
func (m *Recurrent) queries(tp int) int { return split(m.KeyHeads, tp) * m.KeyDim }
func (m *Recurrent) values(tp int) int  { return split(m.Heads, tp) * m.ValueDim }

func (m *Recurrent) linears(hidden, tp int) []Linear {
	q, v, heads := m.queries(tp), m.values(tp), split(m.Heads, tp)
	var ls []Linear
	add := func(name string, n, k int, quantised bool) {
		ls = append(ls, Linear{Name: name, N: n, K: k, Part: AttentionPart, Quantised: quantised})
	}
	switch m.Kind {
	case GatedDeltaNet:
		add("in_qkvz", 2*q+2*v, hidden, true)
		add("in_ba", 2*heads, hidden, true)
	case KimiDelta:
		add("in_qkv", 2*q+v, hidden, true)
		add("in_beta", heads, hidden, true)
		add("decay_a", m.GateRank, hidden, true)
		add("decay_b", q, m.GateRank, true)
		if m.FullGate {
			add("gate", v, hidden, true)
		} else {
			add("gate_a", m.GateRank, hidden, true)
			add("gate_b", v, m.GateRank, true)
		}
	case Mamba2:
		add("in_proj", 2*v+2*q+heads, hidden, true)
	case Lightning:
		add("in_qkv", 2*q+v, hidden, true)
		add("gate", v, hidden, true)
	}
	add("out", hidden, v, true)
	return ls
}

func (m *Recurrent) nonMatrix(hidden int, _ expertShare) nonMatrixParameters {
	var p nonMatrixParameters
	channels := int64(2*m.queries(1) + m.values(1))
	p.Biases = channels * int64(m.Conv)
	if m.ConvBias {
		p.Biases += channels
	}
	switch m.Kind {
	case GatedDeltaNet: // the decay and its bias a head, the norm of the output
		p.Biases += int64(2 * m.Heads)
		p.Norms = int64(m.ValueDim)
	case KimiDelta:
		p.Biases += int64(m.Heads + m.queries(1))
		p.Norms = int64(m.ValueDim)
	case Mamba2: // decay, its bias and the skip a head
		p.Biases += int64(3 * m.Heads)
		p.Norms = int64(m.values(1))
	case Lightning:
		p.Norms = int64(m.values(1))
		if m.QKNorm {
			p.Norms += product(2, m.KeyDim)
		}
	}
	if m.ProjectionBias {
		for _, l := range m.linears(hidden, 1) {
			p.Biases += int64(l.N)
		}
	}
	return p
}

// elementwise lists the convolution, and the norm and gate of the output.
func (m *Recurrent) elementwise(_, tp int) []ElementwiseKernel {
	channels := 2*m.queries(tp) + m.values(tp)
	ks := []ElementwiseKernel{{Name: "gated_norm", Elements: product(3, m.values(tp))}}
	if m.Conv > 0 {
		ks = append(ks, ElementwiseKernel{Name: "conv", Elements: product(2, channels)})
	}
	return ks
}

// attention implements Mixer. A decode step reads and writes the state. In prompts a chunk of C
// tokens takes, for each head, the products of Yang et al. (arXiv:2412.06464, section 3.3): with
// the delta rule 2C(3·dk+2·dv)+6·dk·dv FLOPs a token, else 2C(dk+dv)+4·dk·dv (Dao and Gu,
// arXiv:2405.21060, section 6).
func (m *Recurrent) attention(tp int, kv hardware.DType) []Attention {
	heads, dk, dv := float64(split(m.Heads, tp)), float64(m.KeyDim), float64(m.ValueDim)
	inChunk, state, decode := dk+dv, 4.0, 5.0
	if m.Kind == GatedDeltaNet || m.Kind == KimiDelta {
		inChunk, state, decode = 3*dk+2*dv, 6, 7
	}
	return []Attention{{
		Recurrent:        m.Kind,
		TokenFLOPs:       heads * (2*chunkTokens*inChunk + state*dk*dv),
		DecodeTokenFLOPs: heads * decode * dk * dv,
		StateBytes:       float64(m.stateBytes(tp)),
		IOBytes:          float64(2*m.queries(tp)+2*m.values(tp)) * float64(wideBytes(kv)),
	}}
}

// stateBytes returns the bytes of the state of one sequence in one layer on one of tp GPUs: the
// matrices, and the inputs that the convolution keeps in 16 bits.
func (m *Recurrent) stateBytes(tp int) int64 {
	matrices := cacheBits(m.StateType,
		product(split(m.Heads, tp), m.KeyDim, m.ValueDim)) / 8
	return matrices + product(max(0, m.Conv-1), 2*m.queries(tp)+m.values(tp), 2)
}

func (m *Recurrent) state(tp int, _ hardware.DType) []State {
	return []State{{FixedBytes: m.stateBytes(tp)}}
}

func (m *Recurrent) fitsTensor(tp int, model string) error {
	if m.Heads%tp != 0 {
		return fmt.Errorf("does not divide the %d heads of the %s of %s", m.Heads, m.Kind, model)
	}
	return nil
}

func (m *Recurrent) sizes() ([]size, error) {
	ss := []size{
		{"heads of the recurrent state", m.Heads, 1, 1 << 12},
		{"key heads of the recurrent state", m.KeyHeads, 1, 1 << 12},
		{"key dimension of the recurrent state", m.KeyDim, 1, 1 << 12},
		{"value dimension of the recurrent state", m.ValueDim, 1, 1 << 12},
		{"convolution", m.Conv, 0, 64}, {"gate rank", m.GateRank, 0, 1 << 17},
	}
	if m.KeyHeads > 0 && m.Heads%m.KeyHeads != 0 {
		return ss, fmt.Errorf("key heads of the %s: found %d, want a divisor of its %d heads",
			m.Kind, m.KeyHeads, m.Heads)
	}
	return ss, nil
}
