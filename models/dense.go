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

func (m *Dense) nonMatrix(hidden int, _ expertShare) nonMatrixParameters {
	if !m.Bias {
		return nonMatrixParameters{}
	}
	return nonMatrixParameters{Biases: product(matrices(m.Gated)-1, m.Intermediate) + int64(hidden)}
}

func (m *Dense) elementwise(_, tp int) []ElementwiseKernel {
	return []ElementwiseKernel{
		{Name: "activation", Elements: product(matrices(m.Gated), split(m.Intermediate, tp))}}
}

func (m *Dense) sizes() ([]size, error) {
	return []size{{"intermediate size", m.Intermediate, 1, 1 << 20}}, nil
}
