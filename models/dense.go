package models

// Dense is an ordinary feed-forward network.
type Dense struct {
	// Intermediate is its width.
	Intermediate int
	// Gated reports whether it has three matrices (SwiGLU, arXiv:2002.05202), else two.
	Gated bool
	// Bias reports whether its matrices have biases.
	Bias bool
}

var _ MLP = (*Dense)(nil)

func (m *Dense) linears(hidden, tp int) []Linear {
	return mlp(Linear{Part: MLPPart}, "", hidden, m.Intermediate, m.Gated, tp)
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

func (m *Dense) loose(hidden int, _ expertShare) looseParameters {
	if !m.Bias {
		return looseParameters{}
	}
	return looseParameters{Biases: product(matrices(m.Gated)-1, m.Intermediate) + int64(hidden)}
}

func (m *Dense) elementwise(_, tp int) []ElementwiseKernel {
	return []ElementwiseKernel{
		{Name: "activation", Elements: product(matrices(m.Gated), split(m.Intermediate, tp))}}
}

func (m *Dense) sizes() ([]size, error) {
	return []size{{"intermediate size", m.Intermediate, 1, 1 << 20}}, nil
}
