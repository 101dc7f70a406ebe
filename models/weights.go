package models

import "github.com/llmsim/llmsim/hardware"

// WeightBytes returns the bytes of all weights when the matrices of the layers are stored as d. Embeddings, positions, the
// output head, the router, norms and biases stay 16 bits wide under the formats of 8 bits and less, as in published AWQ,
// GPTQ and FP8 checkpoints.
func (a *Architecture) WeightBytes(d hardware.DType) int64 {
	return a.Parameters().bytes(d)
}

// StreamedBytes returns the bytes of weights that one token of one sequence reads: all on its path but the input embedding
// and the positions, of which it reads one row (and relative positions, whose projection does not depend on the input). A
// tied embedding is read in full, by the output head.
func (a *Architecture) StreamedBytes(d hardware.DType) int64 {
	p := a.ActiveParameters()
	p.Positions = 0
	if !a.TiedEmbeddings {
		p.Embedding -= product(a.Vocab, a.embeddingDim())
	}
	return p.bytes(d)
}

// WeightBytesPerGPU returns the bytes of weights on the fullest GPU when each layer is split over tp GPUs and the layers over
// pp pipeline stages. Norms, biases, positions, the router and MLA's compressions are on every GPU of a stage, and KV heads
// are copied once tp exceeds their number. The fullest stage is taken to hold the larger of embedding and head besides its
// layers (both when pp is 1).
func (a *Architecture) WeightBytesPerGPU(d hardware.DType, tp, pp int) int64 {
	stage := a.stage(d, pp)
	p := stage.Parameters()
	wide := p.Norms + p.Biases
	var matrices, head int64
	for _, l := range stage.LinearLayers(tp) {
		n := l.Weights() * int64(l.Count)
		switch {
		case l.Rows == SampledRows:
			head = n
		case l.Quantised:
			matrices += n
		default:
			wide += n
		}
	}
	embedding := product(split(a.Vocab, tp), a.embeddingDim()) + p.Positions
	switch {
	case pp > 1:
		wide += max(embedding, head)
	case a.TiedEmbeddings:
		wide += embedding
	default:
		wide += embedding + head
	}
	return quantisedBytes(matrices, d) + wide*wideBytes(d)
}

// ExpertBytesPerGPU returns the part of WeightBytesPerGPU that routed experts take.
func (a *Architecture) ExpertBytesPerGPU(d hardware.DType, tp, pp int) int64 {
	stage := a.stage(d, pp)
	var n int64
	for _, l := range stage.LinearLayers(tp) {
		if l.Rows == RoutedRows {
			n += l.Weights() * int64(l.Count)
		}
	}
	return quantisedBytes(n, d)
}

// stage returns the fullest of pp pipeline stages as a model of its own: the ⌈layers/pp⌉ neighbouring layers whose
// weights, stored as d, take most, and both embedding and head.
func (a *Architecture) stage(d hardware.DType, pp int) Architecture {
	s := *a
	most, heaviest := split(a.Layers(), pp), int64(-1)
	for from := 0; from+most <= a.Layers(); from++ {
		part := *a
		part.Groups = a.slice(from, most)
		if n := part.WeightBytes(d); n > heaviest {
			s.Groups, heaviest = part.Groups, n
		}
		if len(a.Groups) == 1 {
			break
		}
	}
	return s
}

// slice returns the groups of n layers from the given one.
func (a *Architecture) slice(from, n int) []Group {
	var gs []Group
	for _, g := range a.Groups {
		skipped := min(from, g.Count)
		from -= skipped
		if g.Count = min(g.Count-skipped, n); g.Count > 0 {
			gs = append(gs, g)
			n -= g.Count
		}
	}
	return gs
}

// bytes returns the bytes of the counted parameters.
func (p Parameters) bytes(d hardware.DType) int64 {
	matrices := p.Attention + p.MLP + p.Experts + p.SharedExperts
	return quantisedBytes(matrices, d) + (p.Total()-matrices)*wideBytes(d)
}

// weightBits returns the bits of a weight of a quantised matrix as a fraction, scales included:
//   - INT4: groups of 128 with a 16-bit scale and a 4-bit zero point (AWQ, arXiv:2306.00978, section 5.1; GPTQ's usual setting).
//   - FP4: NVFP4, groups of 16 with an 8-bit scale (NVIDIA, "Introducing NVFP4", 2025).
//   - MXFP4: groups of 32 with an 8-bit scale (OCP Microscaling Formats specification 1.0, 2023).
//   - Q4_0: groups of 32 with a 16-bit scale; Q4KM: 4.5 bits, and 6.56 in half of the values and of the down projections
//     (ggml-org/llama.cpp, ggml-common.h and llama-quant.cpp): 4.58 GiB of Llama-3-8B.
//   - INT8, FP8: one scale a channel, tensor or block of 128×128, which is neglected: less than 0.1 %.
func weightBits(d hardware.DType) (bits, per int64) {
	switch d {
	case hardware.INT4:
		return 4*128 + 16 + 4, 128
	case hardware.FP4:
		return 4*16 + 8, 16
	case hardware.Q4_0:
		return 4*32 + 16, 32
	case hardware.Q4KM:
		return 484, 100
	case hardware.MXFP4:
		return 4*32 + 8, 32
	case hardware.FP6:
		return 6*32 + 8, 32
	case hardware.INT8, hardware.FP8, hardware.FP8Block:
		return 8, 1
	case hardware.FP32, hardware.TF32:
		return 32, 1
	default:
		return 16, 1
	}
}

// quantisedBytes returns the bytes of n weights of matrices stored as d, rounded up.
func quantisedBytes(n int64, d hardware.DType) int64 {
	bits, per := weightBits(d)
	return ceilDiv(ceilDiv(n, per)*bits, 8)
}

// wideBytes returns the bytes of a value that quantisation leaves alone: of weights outside the layers' matrices, and of
// activations.
func wideBytes(d hardware.DType) int64 {
	if d == hardware.FP32 || d == hardware.TF32 {
		return 4
	}
	return 2
}

func ceilDiv(n, d int64) int64 { return (n + d - 1) / d }
