package steptime

import (
	"slices"

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

func (w *Work) add(count, flops, bytes float64) {
	w.FLOPs += float64(count * flops)
	w.Bytes += float64(count * bytes)
}

// WorkCounts counts what the work of steps is linear in, if LinearWork is true and each decoding
// sequence puts one token into a step. Sums are exact, and cost less than the work of each step.
type WorkCounts struct {
	// steps is the number of steps, and sampling that of the steps in which tokens come out.
	steps, sampling int64
	// decodes is the number of decoding sequences, and context what they attend to.
	decodes, context int64
	// chunks is the number of chunks of prompts, and lasts that of those that complete one. tokens
	// are computed in them, cached come before them, and pairs are those of a query and a key.
	chunks, lasts, tokens, cached, pairs int64
}

// Add adds a leap.
func (n *WorkCounts) Add(l *sim.Leap) {
	sampled := int64(l.Decodes)
	for i := range l.Prefill {
		chunk := &l.Prefill[i]
		tokens, cached := int64(chunk.New), int64(chunk.Cached)
		n.chunks++
		n.tokens += tokens
		n.cached += cached
		n.pairs += tokens*cached + tokens*(tokens+1)/2
		if chunk.Last {
			n.lasts++
			sampled++
		}
	}
	n.steps += l.Steps
	if sampled > 0 {
		n.sampling += l.Steps
	}
	n.decodes += l.Steps * int64(l.Decodes)
	n.context += l.ContextSum()
}

// LinearWork reports whether Work is linear in WorkCounts: no window is ever full, no experts are
// chosen, and there are no images.
func (c *Clock) LinearWork() bool {
	return c.images.count == 0 && len(c.work.experts) == 0 &&
		!slices.ContainsFunc(c.work.attention, func(a models.Attention) bool {
			return a.Window > 0 || a.Gathered
		})
}

// WorkOf returns the work of the steps that were counted.
func (c *Clock) WorkOf(n *WorkCounts) Work {
	f := &c.work
	decodes, tokens := float64(n.decodes), float64(n.tokens)
	var w Work
	for i := range f.attention {
		a := &f.attention[i]
		w.add(float64(a.Count),
			float64(a.PrefillFLOPs*float64(n.pairs))+float64(a.TokenFLOPs*tokens)+
				float64(a.DecodeFLOPs*float64(n.context))+float64(a.DecodeTokenFLOPs*decodes),
			float64(a.KVBytes*float64(n.tokens+n.cached+n.context))+
				float64(a.StateBytes*float64(n.chunks+n.decodes)))
	}
	w.FLOPs += float64((decodes+tokens)*f.tokenFLOPs) +
		float64(float64(n.decodes+n.lasts)*f.rowFLOPs) + float64(float64(n.cached)*f.expandFLOPs)
	w.Bytes += float64(float64(n.steps)*f.weightBytes) + float64(float64(n.sampling)*f.headBytes)
	return w
}
