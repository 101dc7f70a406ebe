package models

import "github.com/llmsim/llmsim/hardware"

// ElementwiseKernels lists the element-wise kernels of a step on one of tp GPUs, fused as engines
// do: the residual is added by the norm that follows (reads and writes both), rotation is in place,
// and the activation multiplies the gate.
func (a *Architecture) ElementwiseKernels(tp int) []ElementwiseKernel {
	ks := make([]ElementwiseKernel, 0, 8)
	ks = append(ks,
		ElementwiseKernel{"embedding", 1, product(2, a.Hidden)},
		ElementwiseKernel{Norm, a.norms(), product(4, a.Hidden)})
	for i := range a.Groups {
		for _, p := range a.Groups[i].parts() {
			for _, k := range p.elementwise(a.Hidden, tp) {
				ks = addElementwise(ks, k, a.Groups[i].Count)
			}
		}
	}
	// all streams are read to make the input, and read and written with the output
	if s := a.Streams; s > 1 {
		ks = append(ks, ElementwiseKernel{"streams", a.AllReduces() - 1, product(3*s+2, a.Hidden)})
	}
	return ks
}

// LinearLayers lists the matrix multiplications of a step on one of tp GPUs, in the order of
// execution, with all layers that are alike as one. Column-parallel matrices split N, row-parallel
// ones K (Megatron-LM, arXiv:1909.08053, section 3). Sizes that tp does not divide are rounded up.
func (a *Architecture) LinearLayers(tp int) []Linear {
	ls := make([]Linear, 0, 16)
	if a.EmbeddingDim != 0 {
		ls = append(ls, Linear{Name: "project_in", N: a.Hidden, K: a.EmbeddingDim, Count: 1})
	}
	for i := range a.Groups {
		for _, p := range a.Groups[i].parts() {
			for _, l := range p.linears(a.Hidden, tp) {
				if f := a.Groups[i].Formats; f != nil && l.Quantised {
					l.Own, l.Published = (*f)[l.Name], a.DType
				}
				ls = addLinear(ls, l, a.Groups[i].Count)
			}
		}
	}
	if w := a.LayerInput; w > 0 {
		ls = append(ls,
			Linear{Name: "layer_inputs", N: w * a.Layers(), K: a.Hidden, Count: 1, Part: MLPPart},
			Linear{Name: "layer_gate", N: w, K: a.Hidden, Count: a.Layers(), Part: MLPPart},
			Linear{Name: "layer_up", N: a.Hidden, K: w, Count: a.Layers(), Part: MLPPart})
	}
	// before each mixer and each MLP: weights to read, to write, and between streams
	if s := a.Streams; s > 1 {
		ls = append(ls, Linear{Name: "streams", N: s * (s + 2), K: s * a.Hidden,
			Count: a.AllReduces() - 1, Part: AttentionPart})
	}
	if a.EmbeddingDim != 0 {
		ls = append(ls, Linear{Name: "project_out", N: a.EmbeddingDim, K: a.Hidden, Count: 1})
	}
	for i := range ls {
		if ls[i].Rows == RoutedRows {
			ls[i].Spread = SpreadOf(a.Family, routings(), false)
		}
	}
	return append(ls, Linear{Name: "lm_head", N: split(a.Vocab, tp), K: a.embeddingDim(), Count: 1,
		Rows: SampledRows})
}

// AllReduces returns the number of all-reduces of a step under tensor parallelism, each of one
// hidden vector a token: after the mixer and after the MLP of each layer (once where they run in
// parallel), and after the split embedding.
func (a *Architecture) AllReduces() int {
	n := 1
	for i := range a.Groups {
		g := &a.Groups[i]
		each := len(g.parts())
		if g.Parallel {
			each = 1
		}
		n += g.Count * each
	}
	return n
}

// WideNorms returns the number of layers that normalise their queries and keys over all heads.
// Under tensor parallelism each of them sums two squares a token over all ranks (SGLang,
// models/minimax_m2.py, MiniMaxM2QKRMSNorm; vLLM, MiniMaxText01RMSNormTP.forward_qk).
func (a *Architecture) WideNorms() int {
	n := 0
	for i := range a.Groups {
		if m, ok := a.Groups[i].Mixer.(*Softmax); ok && m.WideQKNorm {
			n += a.Groups[i].Count
		}
	}
	return n
}

// AttentionLayers returns the kinds of attention on one of tp GPUs, with the cache stored as kv:
// first the layers that see all tokens, then the layers that see a part.
func (a *Architecture) AttentionLayers(tp int, kv hardware.DType) []Attention {
	var kinds []Attention
	add := func(l Attention, n int) {
		for i := range kinds {
			if l.Count = kinds[i].Count; kinds[i] == l {
				kinds[i].Count += n
				return
			}
		}
		l.Count = n
		kinds = append(kinds, l)
	}
	for _, windowed := range []bool{false, true} {
		for i := range a.Groups {
			if a.Groups[i].Mixer == nil {
				continue
			}
			for _, l := range a.Groups[i].Mixer.attention(tp, kv) {
				if (l.Window > 0) == windowed {
					add(l, a.Groups[i].Count)
				}
			}
		}
	}
	return kinds
}
