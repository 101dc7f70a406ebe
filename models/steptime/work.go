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

// WorkCounts sums up what the work of steps is linear in, if LinearWork is true and each decoding
// sequence puts one token into a step. The sums are exact, and quicker than the work of each step.
type WorkCounts struct {
	// Steps is the number of steps, and Sampling that of the steps in which tokens come out.
	Steps, Sampling int64
	// Decodes is the number of decoding sequences in each step, and Context that of the tokens to
	// which they attend.
	Decodes, Context int64
	// Chunks is the number of chunks of prompts, and Lasts that of the chunks that complete one.
	// Tokens are computed in them, Cached come before them, and Pairs are those of a query and a
	// key.
	Chunks, Lasts, Tokens, Cached, Pairs int64
}

// Add adds a leap.
func (n *WorkCounts) Add(l *sim.Leap) {
	sampled := int64(l.Decodes)
	for i := range l.Prefill {
		chunk := &l.Prefill[i]
		tokens, cached := int64(chunk.New), int64(chunk.Cached)
		n.Chunks++
		n.Tokens += tokens
		n.Cached += cached
		n.Pairs += tokens*cached + tokens*(tokens+1)/2
		if chunk.Last {
			n.Lasts++
			sampled++
		}
	}
	n.Steps += l.Steps
	if sampled > 0 {
		n.Sampling += l.Steps
	}
	n.Decodes += l.Steps * int64(l.Decodes)
	n.Context += l.ContextSum()
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
	decodes, tokens := float64(n.Decodes), float64(n.Tokens)
	var w Work
	for i := range f.attention {
		a := &f.attention[i]
		w.add(float64(a.Count),
			float64(a.PrefillFLOPs*float64(n.Pairs))+float64(a.TokenFLOPs*tokens)+
				float64(a.DecodeFLOPs*float64(n.Context))+float64(a.DecodeTokenFLOPs*decodes),
			float64(a.KVBytes*float64(n.Tokens+n.Cached+n.Context))+
				float64(a.StateBytes*float64(n.Chunks+n.Decodes)))
	}
	w.FLOPs += float64((decodes+tokens)*f.tokenFLOPs) +
		float64(float64(n.Decodes+n.Lasts)*f.rowFLOPs) + float64(float64(n.Cached)*f.expandFLOPs)
	w.Bytes += float64(float64(n.Steps)*f.weightBytes) + float64(float64(n.Sampling)*f.headBytes)
	return w
}
