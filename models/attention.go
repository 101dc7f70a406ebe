package models

// Attention is the work of the kernels of alike layers on one GPU that touch what sequences keep:
// FLOPs for each pair of a query and a key, and bytes for each token.
type Attention struct {
	// Count is the number of such layers.
	Count int
	// Window is the largest number of tokens that a query attends to, itself included: a sliding
	// window, or what an indexer chooses; 0 means all.
	Window int
	// PrefillFLOPs and DecodeFLOPs are for one pair in one layer: 4·heads·head dimension where keys
	// and values are as wide.
	PrefillFLOPs, DecodeFLOPs float64
	// HeadFLOPs are the PrefillFLOPs of one head.
	HeadFLOPs float64
	// KVBytes is the size of a token's keys and values in one layer.
	KVBytes float64
	// IOBytes is the size of a token's query and output in one layer.
	IOBytes float64
	// TokenFLOPs and DecodeTokenFLOPs are for one token, independent of its context, in prefill and
	// decode; StateBytes is the state of fixed size of a sequence in one layer, read and written by
	// each step and each chunk.
	TokenFLOPs, DecodeTokenFLOPs, StateBytes float64
	// Recurrent is the kind of linear attention; empty for others.
	Recurrent RecurrentKind
	// Latent reports whether decode works on MLA's latent.
	Latent bool
	// Gathered reports whether each query of a prompt reads tokens of its own choice.
	Gathered bool
	// Scan reports whether this is an indexer's scoring of all tokens, which computes in 8 bits.
	Scan bool
	// Heads, KVHeads and HeadDim describe one GPU's part, for tables of measured kernels.
	Heads, KVHeads, HeadDim int
}

// AttentionWork is the work of attention in one layer of one GPU, with each byte moved once.
type AttentionWork struct {
	FLOPs float64
	// KVRead and KVWritten are bytes of the cache; IO is bytes of queries and outputs.
	KVRead, KVWritten, IO float64
}

// causalPairs returns the number of pairs of a query and a key when n tokens follow c cached ones
// and each attends to itself and all before it, n·c + n(n+1)/2, or to the last window of them where
// window is not 0.
func causalPairs(n, c, window int) int64 {
	growing := n
	if window > 0 {
		growing = min(max(window-c, 0), n)
	}
	g := int64(growing)
	return g*int64(c) + g*(g+1)/2 + int64(n-growing)*int64(window)
}

// Reach says which tokens the queries of a layer attend to, with the Window and Gathered of
// Attention.
type Reach struct {
	Window   int
	Gathered bool
}

// Reach returns which tokens the layer attends to.
func (l *Attention) Reach() Reach { return Reach{l.Window, l.Gathered} }

// Prefill returns the pairs of a query and a key of a chunk of n new tokens after c cached ones,
// and the number of tokens whose keys and values it reads.
func (r Reach) Prefill(n, c int) (pairs, read int64) {
	pairs, read = causalPairs(n, c, r.Window), int64(n)+int64(c)
	if r.Gathered {
		read = pairs
	} else if r.Window > 0 {
		read = int64(n) + int64(min(c, r.Window-1))
	}
	return pairs, read
}

// Decode returns the pairs and the tokens read as Attention.Decode counts them, pairs rounded to a
// whole number.
func (r Reach) Decode(sequences, tokens int, context int64) (pairs, read int64) {
	if sequences == 0 {
		return 0, 0
	}
	n, t := int64(sequences), int64(tokens)
	pairs, read = context, context
	if t != n {
		pairs = (t*(2*context-(t-n)) + n) / (2 * n)
	}
	if r.Window > 0 {
		window := int64(r.Window)
		read, pairs = min(read, n*window+t-n), min(pairs, t*window)
	}
	return pairs, read
}

// Decodes returns the sum of Decode over a number of steps in which n sequences decode one token
// each, so that pairs and tokens read are equal. The context grows by n a step.
func (r Reach) Decodes(n int, context, steps int64) (read int64) {
	if n == 0 {
		return 0
	}
	growing, each := steps, int64(n)
	if full := each * int64(r.Window); r.Window > 0 {
		growing = min(max((full-context+each-1)/each, 0), steps) // below full
		read = (steps - growing) * full
	}
	return read + growing*context + each*(growing*(growing-1)/2)
}

// Prefill returns the work of a chunk of n new tokens after c cached ones.
func (l *Attention) Prefill(n, c int) AttentionWork {
	pairs, read := l.Reach().Prefill(n, c)
	return AttentionWork{
		FLOPs:     float64(l.PrefillFLOPs*float64(pairs)) + float64(l.TokenFLOPs*float64(n)),
		KVRead:    float64(l.KVBytes*float64(read)) + l.StateBytes,
		KVWritten: float64(l.KVBytes*float64(n)) + l.StateBytes,
		IO:        l.IOBytes * float64(n),
	}
}

// Decode returns the work of sequences that decode tokens together (one each, or more when drafts
// are verified) at the given sum of their contexts, the new tokens included. It is affine in the
// context up to BendsAt, and beyond: a window counts as reached by all sequences at once, when
// their mean context reaches it.
func (l *Attention) Decode(sequences, tokens int, context int64) AttentionWork {
	if sequences == 0 {
		return AttentionWork{}
	}
	n, t, read := float64(sequences), float64(tokens), float64(context)
	each := t / n
	pairs := float64(each*read) - float64(t*(each-1))/2
	if l.Window > 0 {
		read = min(read, float64(n*float64(l.Window))+t-n)
		pairs = min(pairs, t*float64(l.Window))
	}
	return AttentionWork{
		FLOPs:     float64(l.DecodeFLOPs*pairs) + float64(l.DecodeTokenFLOPs*t),
		KVRead:    float64(l.KVBytes*read) + float64(l.StateBytes*n),
		KVWritten: float64(l.KVBytes*t) + float64(l.StateBytes*n),
		IO:        l.IOBytes * t,
	}
}

// BendsAt returns the sum of contexts at which n sequences that decode one token each fill their
// windows, so that more context costs nothing; 0 when the layer has no window.
func (l *Attention) BendsAt(n int) int64 { return int64(n) * int64(l.Window) }

// RecurrentKind says which recurrence it is.
type RecurrentKind string

const (
	// GatedDeltaNet is the layer of Yang et al., arXiv:2412.06464 (Qwen3-Next, Qwen3.5).
	GatedDeltaNet RecurrentKind = "gated delta net"
	// KimiDelta gates each channel of the key (Kimi Linear, arXiv:2510.26692, section 3).
	KimiDelta RecurrentKind = "Kimi delta attention"
	// Mamba2 is the state-space layer of Dao and Gu, arXiv:2405.21060.
	Mamba2 RecurrentKind = "Mamba-2"
	// Lightning is linear attention with a fixed decay (MiniMax-01, arXiv:2501.08313, section 2.2).
	Lightning RecurrentKind = "lightning attention"
)
