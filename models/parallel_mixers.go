package models

import "github.com/llmsim/llmsim/hardware"

// ParallelMixers is two mixers that read the same input and whose outputs are added (Falcon-H1,
// arXiv:2507.22448, section 2.1).
type ParallelMixers struct{ One, Other Mixer }

var _ Mixer = (*ParallelMixers)(nil)

func (m *ParallelMixers) linears(hidden, tp int) []Linear {
	ls := m.One.linears(hidden, tp)
	for _, l := range m.Other.linears(hidden, tp) {
		l.Name = "state_" + l.Name
		ls = append(ls, l)
	}
	return ls
}

func (m *ParallelMixers) nonMatrix(hidden int, share expertShare) nonMatrixParameters {
	p, q := m.One.nonMatrix(hidden, share), m.Other.nonMatrix(hidden, share)
	return nonMatrixParameters{Norms: p.Norms + q.Norms, Biases: p.Biases + q.Biases,
		Positions: p.Positions + q.Positions}
}

func (m *ParallelMixers) elementwise(hidden, tp int) []ElementwiseKernel {
	return append(m.One.elementwise(hidden, tp), m.Other.elementwise(hidden, tp)...)
}

func (m *ParallelMixers) attention(tp int, kv hardware.DType) []Attention {
	return append(m.One.attention(tp, kv), m.Other.attention(tp, kv)...)
}

func (m *ParallelMixers) state(tp int, kv hardware.DType) []State {
	return append(m.One.state(tp, kv), m.Other.state(tp, kv)...)
}

func (m *ParallelMixers) fitsTensor(tp int, model string) error {
	if err := m.One.fitsTensor(tp, model); err != nil {
		return err
	}
	return m.Other.fitsTensor(tp, model)
}

func (m *ParallelMixers) sizes() ([]size, error) {
	ss, err := m.One.sizes()
	if err != nil {
		return ss, err
	}
	others, err := m.Other.sizes()
	return append(ss, others...), err
}
