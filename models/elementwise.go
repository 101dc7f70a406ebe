package models

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
