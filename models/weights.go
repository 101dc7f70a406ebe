package models

import (
	"cmp"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// WeightBytes returns the bytes of all weights when the matrices of the layers are stored as d.
// Embeddings, positions, the output head, the router, norms and biases stay 16 bits wide under the
// formats of 8 bits and less, as in published AWQ, GPTQ and FP8 checkpoints. Where d is the
// published format, each matrix has the checkpoint's format.
func (a *Architecture) WeightBytes(d hardware.DType) int64 {
	return a.bytes(a.Parameters().Total(), d, allExperts)
}

// bytes returns the bytes of a number of parameters that includes the matrices of the layers.
func (a *Architecture) bytes(parameters int64, d hardware.DType, share expertShare) int64 {
	var matrices weightCount
	for _, l := range a.LinearLayers(1) {
		if l.Quantised {
			n := l.Weights() * int64(l.Count)
			if l.Part == ExpertPart && share == activeExperts {
				n = n / int64(l.Experts) * int64(l.Active)
			}
			matrices.add(l.Format(d), n)
			parameters -= n
		}
	}
	return matrices.bytes() + parameters*wideBytes(d)
}

// weightCount counts weights by how they are stored.
type weightCount map[Format]int64

func (w *weightCount) add(f Format, n int64) {
	if *w == nil {
		*w = weightCount{}
	}
	(*w)[f] += n
}

func (w weightCount) bytes() int64 {
	var n int64
	for f, weights := range w {
		n += f.Bytes(weights)
	}
	return n
}

// StreamedBytes returns the bytes of weights that one token of one sequence reads: all on its path
// but the input embedding and the positions, where it reads one row (and relative positions, whose
// projection does not depend on the input). A tied embedding is read in full, by the output head.
func (a *Architecture) StreamedBytes(d hardware.DType) int64 {
	p := a.ActiveParameters()
	p.Positions, p.Towers = 0, 0
	if !a.TiedEmbeddings {
		p.Embedding -= product(a.Vocab, a.embeddingDim())
	}
	return a.bytes(p.Total(), d, activeExperts)
}

// WeightBytesPerGPU returns the bytes of weights on the fullest GPU when each layer is split over
// tp GPUs, as towers are, and the layers over pp pipeline stages. Norms, biases, positions, the
// router and MLA's compressions are on every GPU of a stage, and KV heads are copied once tp
// exceeds their number. The fullest stage is taken to hold the larger of embedding and head besides
// its layers (both when pp is 1).
func (a *Architecture) WeightBytesPerGPU(d hardware.DType, tp, pp int) int64 {
	stage := a.stage(d, pp)
	p := stage.Parameters()
	wide := p.Norms + p.Biases + (p.Towers+int64(tp)-1)/int64(tp)
	var head int64
	var matrices weightCount
	for _, l := range stage.LinearLayers(tp) {
		n := l.Weights() * int64(l.Count)
		switch {
		case l.Rows == SampledRows:
			head = n
		case l.Quantised:
			matrices.add(l.Format(d), n)
		default:
			wide += n
		}
	}
	embedding := product(split(a.Vocab, tp), a.embeddingDim()) + p.Positions +
		ceilDiv(layerInputs(a), int64(tp))
	switch {
	case pp > 1:
		wide += max(embedding, head)
	case a.TiedEmbeddings:
		wide += embedding
	default:
		wide += embedding + head
	}
	return matrices.bytes() + wide*wideBytes(d)
}

// ExpertBytesPerGPU returns the part of WeightBytesPerGPU that routed experts take.
func (a *Architecture) ExpertBytesPerGPU(d hardware.DType, tp, pp int) int64 {
	stage := a.stage(d, pp)
	var experts weightCount
	for _, l := range stage.LinearLayers(tp) {
		if l.Rows == RoutedRows {
			experts.add(l.Format(d), l.Weights()*int64(l.Count))
		}
	}
	return experts.bytes()
}

// stage returns the fullest of pp pipeline stages as a model of its own: the ⌈layers/pp⌉
// neighbouring layers whose weights, stored as d, take most, and both embedding and head.
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

// Stored is the size of the weights of one number format.
type Stored struct {
	DType hardware.DType
	Bytes int64
}

// Storage returns what the weights take as they are published, by number format, the most first.
func (a *Architecture) Storage() []Stored {
	bytes := map[hardware.DType]int64{}
	rest := a.Parameters().Total()
	var matrices weightCount
	for _, l := range a.LinearLayers(1) {
		if l.Quantised {
			n := l.Weights() * int64(l.Count)
			matrices.add(l.Format(a.DType), n)
			rest -= n
		}
	}
	for f, n := range matrices {
		bytes[f.DType] += f.Bytes(n)
	}
	wide := hardware.BF16
	if d := a.DType; d == hardware.FP16 || d == hardware.FP32 {
		wide = d
	}
	bytes[wide] += rest * wideBytes(a.DType)
	var list []Stored
	for _, d := range slices.Sorted(maps.Keys(bytes)) {
		list = append(list, Stored{d, bytes[d]})
	}
	slices.SortStableFunc(list, func(a, b Stored) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return list
}
