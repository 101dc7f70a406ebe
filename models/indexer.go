package models

import "github.com/llmsim/llmsim/hardware"

// Indexer chooses the tokens that a query attends to: a few small heads score all cached tokens,
// and the best are kept (DeepSeek sparse attention: DeepSeek-V3.2-Exp technical report, 2025,
// section 2.1). MiniMax-M3 scores in the same way and keeps whole blocks. A nil Indexer chooses all
// tokens, and costs nothing.
type Indexer struct {
	// Heads and Dim belong to the scoring queries; the single key of a token has Dim too.
	Heads, Dim int
	// TopK is the number of tokens that a query attends to.
	TopK int
	// FromInput reports whether queries are projected from the input, not from the compressed
	// queries of MLA.
	FromInput bool
	// Given reports whether the layer takes the choice of the one before it, and has no index of
	// its own (GLM-5.2).
	Given bool
	// Unweighted reports whether the heads' scores are joined without learned weights.
	Unweighted bool
}

// scores reports whether the layer scores tokens itself.
func (x *Indexer) scores() bool { return x != nil && !x.Given }

func (x *Indexer) linears(hidden, queryRank int) []Linear {
	if !x.scores() {
		return nil
	}
	if x.FromInput || queryRank == 0 {
		queryRank = hidden
	}
	ls := []Linear{
		{Name: "index_q", N: x.Heads * x.Dim, K: queryRank, Part: AttentionPart, Quantised: true},
		{Name: "index_k", N: x.Dim, K: hidden, Part: AttentionPart, Quantised: true},
	}
	if !x.Unweighted {
		ls = append(ls, Linear{Name: "index_weights", N: x.Heads, K: hidden, Part: AttentionPart})
	}
	return ls
}

// nonMatrix counts the norm of the keys: a weight and a bias.
func (x *Indexer) nonMatrix() int64 {
	if !x.scores() {
		return 0
	}
	return product(2, x.Dim)
}

func (x *Indexer) elementwise() []ElementwiseKernel {
	if !x.scores() {
		return nil
	}
	return []ElementwiseKernel{{Name: "index_rotary", Elements: product(2, x.Heads+1, x.Dim)}}
}

// choose returns the kernels of attention l to chosen tokens: the scan of the index, then l over at
// most TopK tokens, gathered for each query.
func (x *Indexer) choose(l Attention, kv hardware.DType) []Attention {
	if x == nil {
		return []Attention{l}
	}
	l.Window, l.Gathered = x.TopK, true
	if x.Given {
		return []Attention{l}
	}
	scan := Attention{
		PrefillFLOPs: 2 * float64(x.Heads) * float64(x.Dim),
		DecodeFLOPs:  2 * float64(x.Heads) * float64(x.Dim),
		HeadFLOPs:    2 * float64(x.Dim),
		KVBytes:      float64(x.tokenBits(kv)) / 8,
		IOBytes:      float64(x.Heads*x.Dim) * float64(wideBytes(kv)),
		Scan:         true,
	}
	return []Attention{scan, l}
}

// tokenBits returns the size of the key of a token. In 8 bits each 128 elements have a scale of 32
// bits: 132 bytes for a key of 128 (DeepSeek-V3.2 and GLM-5 in vLLM's and SGLang's logs).
func (x *Indexer) tokenBits(kv hardware.DType) int64 {
	bits := cacheBits(kv, int64(x.Dim))
	if kv == hardware.FP8 {
		bits += 32 * int64((x.Dim+127)/128)
	}
	return bits
}

func (x *Indexer) states(kv hardware.DType) []State {
	if !x.scores() {
		return nil
	}
	return []State{{TokenBits: x.tokenBits(kv)}}
}

func (x *Indexer) sizes() []size {
	if x == nil {
		return nil
	}
	return []size{{"index heads", x.Heads, 1, 1 << 11}, {"index head dimension", x.Dim, 1, 1 << 11},
		{"index top-k", x.TopK, 1, 1 << 24}}
}
