package models

import "github.com/llmsim/llmsim/hardware"

// Attention is the work of the attention kernels of alike layers on one GPU: FLOPs for each pair of a query and a key, and
// bytes for each token.
type Attention struct {
	// Count is the number of such layers.
	Count int
	// Window is their sliding window in tokens; 0 means full attention.
	Window int
	// PrefillFLOPs and DecodeFLOPs are for one pair in one layer: 4·heads·head dimension. MLA decodes over its latent
	// (DeepSeek-V2, arXiv:2405.04434, section 2.1.2: the absorbed form), which costs more FLOPs and reads fewer bytes.
	PrefillFLOPs, DecodeFLOPs float64
	// KVBytes is what a token stores in one layer.
	KVBytes float64
	// IOBytes is what a token's query and output take in one layer.
	IOBytes float64
}

// AttentionWork is what attention computes in one layer of one GPU, with each byte moved once.
type AttentionWork struct {
	FLOPs float64
	// KVRead and KVWritten are bytes of the cache; IO is bytes of queries and outputs.
	KVRead, KVWritten, IO float64
}

// AttentionLayers returns the kinds of attention layer on one of tp GPUs, with the cache stored as kv: those with full
// attention and those with a sliding window, as far as the model has them.
func (a *Architecture) AttentionLayers(tp int, kv hardware.DType) []Attention {
	heads := float64(split(a.Heads, tp))
	l := Attention{
		PrefillFLOPs: 4 * heads * float64(a.HeadDim),
		KVBytes:      float64(a.kvBits(tp, kv)) / 8,
		IOBytes:      2 * heads * float64(a.HeadDim) * float64(wideBytes(kv)),
	}
	l.DecodeFLOPs = l.PrefillFLOPs
	if m := a.MLA; m != nil {
		l.PrefillFLOPs = 2 * heads * float64(m.NopeDim+m.RopeDim+m.ValueDim)
		l.DecodeFLOPs = 2 * heads * float64(2*m.KVRank+m.RopeDim)
		l.IOBytes = heads * float64(m.NopeDim+m.RopeDim+m.ValueDim) * float64(wideBytes(kv))
	}
	var kinds []Attention
	full, windowed := a.attentionKinds()
	if full > 0 {
		l.Count = full
		kinds = append(kinds, l)
	}
	if windowed > 0 {
		l.Count, l.Window = windowed, a.Window
		kinds = append(kinds, l)
	}
	return kinds
}

// attentionKinds returns the number of layers with full attention and of those with a sliding window.
func (a *Architecture) attentionKinds() (full, windowed int) {
	switch {
	case a.Window == 0:
		return a.Layers, 0
	case a.WindowLayers == 0:
		return 0, a.Layers
	default:
		return a.Layers - a.WindowLayers, a.WindowLayers
	}
}

// causalPairs returns the number of pairs of a query and a key when n tokens follow c cached ones and each attends to itself
// and all before it, n·c + n(n+1)/2, or to the last window of them where window is not 0.
func causalPairs(n, c, window int) int64 {
	growing := n
	if window > 0 {
		growing = min(max(window-c, 0), n)
	}
	g := int64(growing)
	return g*int64(c) + g*(g+1)/2 + int64(n-growing)*int64(window)
}

// Prefill returns the work of a chunk of n new tokens after c cached ones.
func (l *Attention) Prefill(n, c int) AttentionWork {
	read := n + c
	if l.Window > 0 {
		read = n + min(c, l.Window-1)
	}
	return AttentionWork{
		FLOPs:     l.PrefillFLOPs * float64(causalPairs(n, c, l.Window)),
		KVRead:    l.KVBytes * float64(read),
		KVWritten: l.KVBytes * float64(n),
		IO:        l.IOBytes * float64(n),
	}
}

// Decode returns the work of sequences that decode tokens together (as many as there are sequences, or more when drafts are
// verified) at the given sum of their contexts, the new tokens included. It is affine in the context up to BendsAt, and beyond:
// a window counts as reached by all sequences at once, when their mean context reaches it.
func (l *Attention) Decode(sequences, tokens int, context int64) AttentionWork {
	if sequences == 0 {
		return AttentionWork{}
	}
	n, t, read := float64(sequences), float64(tokens), float64(context)
	each := t / n
	pairs := each*read - t*(each-1)/2
	if l.Window > 0 {
		read = min(read, n*float64(l.Window)+t-n)
		pairs = min(pairs, t*float64(l.Window))
	}
	return AttentionWork{
		FLOPs:     l.DecodeFLOPs * pairs,
		KVRead:    l.KVBytes * read,
		KVWritten: l.KVBytes * t,
		IO:        l.IOBytes * t,
	}
}

// BendsAt returns the sum of contexts at which n sequences that decode one token each fill their windows, so that more context
// costs nothing; 0 when the layer has no window.
func (l *Attention) BendsAt(n int) int64 { return int64(n) * int64(l.Window) }
