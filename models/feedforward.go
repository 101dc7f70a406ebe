package models

import "fmt"

// MoE is a mixture of experts: each token visits a few of many feed-forward networks (Shazeer et
// al., arXiv:1701.06538), and the shared ones (DeepSeekMoE, arXiv:2401.06066, section 3.2).
type MoE struct {
	// Experts is the number of routed experts, Active how many a token visits, Shared how many
	// every token visits besides.
	Experts, Active, Shared int
	// Intermediate is the width of one routed expert, SharedIntermediate of all shared experts
	// together.
	Intermediate, SharedIntermediate int
	// Latent is the width of the vectors that routed experts work on, where it differs from the
	// hidden size (Nemotron 3 Super, Kimi-K3): two projections lead there and back. 0 without them.
	Latent int
	// Identity is the number of experts more that pass tokens on as they are (LongCat-Flash);
	// Active does not count them.
	Identity int
	// Gated reports whether an expert has three matrices, else two. Bias reports whether they have
	// biases.
	Gated, Bias bool
	// RouterBias reports whether the router has a correction bias an expert, SharedGate whether a
	// gate of one output weighs the shared experts (Qwen2-MoE).
	RouterBias, SharedGate bool
	// HashRouted reports whether experts follow from the token itself, by a table and no router
	// (DeepSeek-V4's first layers).
	HashRouted bool
}

var _ MLP = (*MoE)(nil)

func (m *MoE) counted(share expertShare) int {
	if share == activeExperts {
		return m.Active
	}
	return m.Experts
}

// linears implements part. The router and the projections to the latent width are computed on every
// GPU; experts are split like the MLP.
func (m *MoE) linears(hidden, tp int) []Linear {
	ls := []Linear{{Name: "router", N: m.Experts + m.Identity, K: hidden, Part: RouterPart}}
	width := hidden
	if m.Latent > 0 {
		width = m.Latent
		ls = append(ls, Linear{Name: "latent_down", N: width, K: hidden, Part: SharedPart,
			Quantised: true})
	}
	routed := Linear{Rows: RoutedRows, Experts: m.Experts, Active: m.Active, Part: ExpertPart}
	ls = append(ls, mlp(routed, "expert_", width, m.Intermediate, m.Gated, tp)...)
	if m.Latent > 0 {
		ls = append(ls, Linear{Name: "latent_up", N: hidden, K: width, Part: SharedPart,
			Quantised: true})
	}
	if m.SharedIntermediate > 0 {
		ls = append(ls, mlp(Linear{Part: SharedPart}, "shared_", hidden, m.SharedIntermediate,
			m.Gated, tp)...)
	}
	if m.SharedGate {
		ls = append(ls, Linear{Name: "shared_weight", N: 1, K: hidden, Part: RouterPart})
	}
	return ls
}

func (m *MoE) nonMatrix(hidden int, share expertShare) nonMatrixParameters {
	var p nonMatrixParameters
	if m.Bias {
		p.Biases = product(m.counted(share)) * (product(matrices(m.Gated)-1, m.Intermediate) +
			int64(hidden))
	}
	if m.RouterBias {
		p.Biases += int64(m.Experts + m.Identity)
	}
	return p
}

func (m *MoE) elementwise(hidden, tp int) []ElementwiseKernel {
	n := matrices(m.Gated)
	ks := []ElementwiseKernel{
		{Name: ExpertActivation, Elements: product(n, m.Active, split(m.Intermediate, tp))},
		{Name: ExpertCombine, Elements: product(m.Active+1, hidden)},
	}
	if m.SharedIntermediate > 0 {
		ks = append(ks, ElementwiseKernel{Name: "shared_activation",
			Elements: product(n, split(m.SharedIntermediate, tp))})
	}
	return ks
}

func (m *MoE) sizes() ([]size, error) {
	ss := []size{
		{"experts", m.Experts, 1, 1 << 11}, {"active experts", m.Active, 1, 1 << 11},
		{"shared experts", m.Shared, 0, 1 << 11},
		{"expert size", m.Intermediate, 1, 1 << 20}, {"shared expert size", m.SharedIntermediate, 0,
			1 << 20},
		{"latent expert width", m.Latent, 0, 1 << 17},
		{"experts that pass tokens on", m.Identity, 0, 1 << 11},
	}
	if m.Active > m.Experts {
		return ss, fmt.Errorf("active experts: found %d, want at most the %d experts", m.Active,
			m.Experts)
	}
	return ss, nil
}

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
