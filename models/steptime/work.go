package steptime

import (
	"math"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Work is the work of a step on all accelerators of a replica together, as far as the model's
// arithmetic needs it. Work that is done twice because the model is spread counts once.
type Work struct {
	// FLOPs is the number of operations of matrix products and attention. Bytes is the size of
	// weights and cache, each read once.
	FLOPs, Bytes float64
}

// workForm is the closed form of Work.
type workForm struct {
	weightBytes                       float64 // read by every step
	headBytes                         float64 // read by steps that sample
	tokenFLOPs, rowFLOPs, expandFLOPs float64
	experts                           []models.Linear
	expertBytes                       []float64 // of one matrix in all layers
	attention                         []models.Attention
}

func newWorkForm(cfg *Config) workForm {
	w := workForm{attention: cfg.Model.AttentionLayers(1, cfg.KV)}
	for _, l := range cfg.Model.LinearLayers(1) {
		flops := 2 * float64(l.Count) * float64(l.N) * float64(l.K)
		bytes := float64(l.Count) * float64(l.MatrixBytes(cfg.Weights))
		switch l.Rows {
		case models.SampledRows:
			w.rowFLOPs += flops
			w.headBytes += bytes
			continue
		case models.RoutedRows:
			w.tokenFLOPs += float64(flops * float64(l.Active))
			w.experts, w.expertBytes = append(w.experts, l), append(w.expertBytes, bytes)
			continue
		case models.ExpandedRows:
			w.expandFLOPs += flops
		}
		w.tokenFLOPs += flops
		w.weightBytes += bytes
	}
	return w
}

// WorkThrough returns the largest total context up to which the work of n decoding sequences is
// affine in their context, from the given context on. It bends where sliding windows are full.
func (c *Clock) WorkThrough(n int, context int64) int64 {
	through := int64(math.MaxInt64)
	for i := range c.work.attention {
		if at := c.work.attention[i].BendsAt(n); at >= context {
			through = min(through, at)
		}
	}
	return through
}

// Work returns the work of step s. Up to WorkThrough it is affine in the context, so the work of a
// stretch of decode steps is their number times the work of one step at their mean context.
func (c *Clock) Work(s *sim.Step) Work {
	f := &c.work
	tokens, rows, cached := s.DecodeTokens, s.DecodeTokens, 0
	w := Work{FLOPs: float64(float64(c.encoded(s)) * c.images.flops)}
	for i := range s.Prefill {
		chunk := &s.Prefill[i]
		tokens += chunk.New
		cached += chunk.Cached
		if chunk.Last {
			rows++
		}
		for j := range f.attention {
			a := f.attention[j].Prefill(chunk.New, chunk.Cached)
			w.add(float64(f.attention[j].Count), a.FLOPs, a.KVRead)
		}
	}
	for j := range f.attention {
		a := f.attention[j].Decode(s.Decodes, s.DecodeTokens, s.Context)
		w.add(float64(f.attention[j].Count), a.FLOPs, a.KVRead)
	}
	w.FLOPs += float64(float64(tokens)*f.tokenFLOPs) + float64(float64(rows)*f.rowFLOPs) +
		float64(float64(cached)*f.expandFLOPs)
	w.Bytes += f.weightBytes
	if rows > 0 {
		w.Bytes += f.headBytes
	}
	for i := range f.experts {
		w.Bytes += float64(f.expertBytes[i] * f.experts[i].Matrices(f.experts[i].Active*tokens))
	}
	return w
}

func (w *Work) add(count, flops, bytes float64) {
	w.FLOPs += float64(count * flops)
	w.Bytes += float64(count * bytes)
}

// Peaks returns what the accelerators of the replica together can compute, in FLOP/s in the number
// format of the matrix products, and move to and from memory, in B/s.
func (c *Clock) Peaks() (flops, bandwidth float64) {
	n := float64(c.cfg.Parallel.GPUs())
	return n * c.operand.peak, n * c.cfg.Accelerator.Bandwidth
}
