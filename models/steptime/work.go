package steptime

import (
	"maps"
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

// workForm is the closed form of Work. It does not change after newWorkForm.
type workForm struct {
	weightBytes float64 // read by every step
	headBytes   float64 // read by steps that sample
	// The FLOPs of products for each token of a step, for each sampled row, and for each cached
	// token whose keys and values are computed anew.
	tokenFLOPs, rowFLOPs, expandFLOPs float64
	// experts are the products of routed experts, and expertBytes the bytes of one matrix of each
	// in all layers: len(expertBytes) = len(experts).
	experts     []models.Linear
	expertBytes []float64
	attention   []models.Attention
	reaches     []models.Reach // of attention, each once
}

func newWorkForm(cfg *Config) workForm {
	w := workForm{attention: cfg.Model.AttentionLayers(1, cfg.KV)}
	for i := range w.attention {
		if r := w.attention[i].Reach(); !slices.Contains(w.reaches, r) {
			w.reaches = append(w.reaches, r)
		}
	}
	for _, l := range cfg.linearLayers(1) {
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

// Add adds other work.
func (w *Work) Add(other Work) { w.add(1, other.FLOPs, other.Bytes) }

func (w *Work) add(count, flops, bytes float64) {
	w.FLOPs += float64(count * flops)
	w.Bytes += float64(count * bytes)
}

// WorkCounts sums up what the work of steps depends on, in whole numbers. So the order in which
// steps are added does not matter, and a leap adds exactly what its steps add. The zero value is
// empty; all additions are by the same Clock.
type WorkCounts struct {
	// Steps is the number of steps, and Sampling the number of steps in which tokens come out.
	Steps, Sampling int64
	// Decodes sums up the decoding sequences of each step, DecodeTokens the tokens that they put
	// into it, and Context the tokens to which they attend.
	Decodes, DecodeTokens, Context int64
	// Chunks is the number of chunks of prompts, and Lasts the number of chunks that complete a
	// prompt. Tokens are computed in the chunks, and Cached tokens come before them.
	Chunks, Lasts, Tokens, Cached int64
	// Images is the number of images and sounds that were encoded.
	Images int64

	attended []attended    // by index in workForm.reaches; nil before the first Count
	routed   map[int]int64 // steps, by the number of tokens that choose experts
}

// attended counts the pairs of a query and a key in layers of the same reach, and the tokens whose
// keys and values they read.
type attended struct{ prefillPairs, prefillRead, decodePairs, decodeRead int64 }

// Count adds a leap to n.
func (c *Clock) Count(n *WorkCounts, l *sim.Leap) {
	if n.attended == nil {
		n.attended = make([]attended, len(c.work.reaches))
	}
	tokens := l.DecodeTokens
	sampled := int64(l.Decodes)
	for i := range l.Prefill {
		chunk := &l.Prefill[i]
		tokens += chunk.New
		n.Chunks++
		n.Tokens += int64(chunk.New)
		n.Cached += int64(chunk.Cached)
		if chunk.Last {
			n.Lasts++
			sampled++
		}
		for j, r := range c.work.reaches {
			pairs, read := r.Prefill(chunk.New, chunk.Cached)
			n.attended[j].prefillPairs += pairs
			n.attended[j].prefillRead += read
		}
	}
	if c.images.count > 0 {
		n.Images += int64(c.images.begunIn(l.Prefill))
	}
	n.Steps += l.Steps
	if sampled > 0 {
		n.Sampling += l.Steps
	}
	n.Decodes += l.Steps * int64(l.Decodes)
	n.DecodeTokens += l.Steps * int64(l.DecodeTokens)
	n.Context += l.ContextSum()
	for j, r := range c.work.reaches {
		n.attended[j].decode(r, l)
	}
	if len(c.work.experts) > 0 {
		if n.routed == nil {
			n.routed = map[int]int64{}
		}
		n.routed[tokens] += l.Steps
	}
}

// decode adds the decoding sequences of a leap.
func (a *attended) decode(r models.Reach, l *sim.Leap) {
	switch {
	case l.Contexts != nil:
		for _, context := range l.Contexts {
			pairs, read := r.Decode(l.Decodes, l.DecodeTokens, context)
			a.decodePairs += pairs
			a.decodeRead += read
		}
	case l.DecodeTokens != l.Decodes:
		pairs, read := r.Decode(l.Decodes, l.DecodeTokens, l.Context)
		a.decodePairs += pairs
		a.decodeRead += read
	default:
		read := r.Decodes(l.Decodes, l.Context, l.Steps)
		a.decodePairs += read
		a.decodeRead += read
	}
}

// WorkOf returns the work of the steps that were counted.
func (c *Clock) WorkOf(n *WorkCounts) Work {
	f := &c.work
	decodes, tokens := float64(n.DecodeTokens), float64(n.Tokens)
	w := Work{FLOPs: float64(float64(n.Images) * c.images.flops)}
	for i := range n.attended {
		for j := range f.attention {
			a, k := &f.attention[j], &n.attended[i]
			if f.reaches[i] != a.Reach() {
				continue
			}
			w.add(float64(a.Count),
				float64(a.PrefillFLOPs*float64(k.prefillPairs))+float64(a.TokenFLOPs*tokens)+
					float64(a.DecodeFLOPs*float64(k.decodePairs))+
					float64(a.DecodeTokenFLOPs*decodes),
				float64(a.KVBytes*float64(k.prefillRead+k.decodeRead))+
					float64(a.StateBytes*float64(n.Chunks+n.Decodes)))
		}
	}
	w.FLOPs += float64((decodes+tokens)*f.tokenFLOPs) +
		float64(float64(n.DecodeTokens+n.Lasts)*f.rowFLOPs) +
		float64(float64(n.Cached)*f.expandFLOPs)
	w.Bytes += float64(float64(n.Steps)*f.weightBytes) + float64(float64(n.Sampling)*f.headBytes)
	for _, tokens := range slices.Sorted(maps.Keys(n.routed)) {
		w.Bytes += float64(float64(n.routed[tokens]) * f.expertsRead(tokens))
	}
	return w
}

// expertsRead returns the bytes of the expected experts that tokens visit in a step.
func (f *workForm) expertsRead(tokens int) float64 {
	bytes := 0.0
	for i := range f.experts {
		bytes += float64(f.expertBytes[i] * f.experts[i].Matrices(f.experts[i].Active*tokens))
	}
	return bytes
}
