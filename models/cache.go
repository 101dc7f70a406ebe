package models

import (
	"math"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

// States returns what a sequence keeps on one of tp GPUs with its cache stored as kv: of all kinds
// of layers, the ones that grow first.
func (a *Architecture) States(tp int, kv hardware.DType) []State {
	var kinds []State
	add := func(s State, n int) {
		for i := range kinds {
			if s.Layers = kinds[i].Layers; kinds[i] == s {
				kinds[i].Layers += n
				return
			}
		}
		s.Layers = n
		kinds = append(kinds, s)
	}
	for _, windowed := range []bool{false, true} {
		for i := range a.Groups {
			if a.Groups[i].Mixer == nil {
				continue
			}
			for _, s := range a.Groups[i].Mixer.state(tp, kv) {
				if (s.Window > 0 || s.TokenBits == 0) == windowed {
					add(s, a.Groups[i].Count)
				}
			}
		}
	}
	return kinds
}

// KVBytesPerToken returns the bytes that one token stores in the cache, over all layers and heads:
// 2·layers·KV heads·head dimension elements, and layers·(KVRank+RopeDim) with MLA, whose one vector
// serves all heads. Windows count as if they were not full. Scales of a quantised cache are
// neglected.
func (a *Architecture) KVBytesPerToken(kv hardware.DType) int64 {
	return a.KVBytesPerTokenPerGPU(kv, 1)
}

// KVBytesPerTokenPerGPU returns the bytes that one token stores on each of tp GPUs. KV heads are
// split; once tp exceeds their number each GPU holds a copy of one. MLA's vector is held by every
// GPU.
func (a *Architecture) KVBytesPerTokenPerGPU(kv hardware.DType, tp int) int64 {
	bits := 0.0
	for _, s := range a.States(tp, kv) {
		bits += s.growth()
	}
	return ceilDiv(int64(bits+0.5), 8)
}

// KVBytesOfSequence returns the bytes that a sequence of n tokens stores on each of tp GPUs. Layers
// with a sliding window keep no more than the window; those with state of fixed size have it from
// the first token.
func (a *Architecture) KVBytesOfSequence(n int, kv hardware.DType, tp int) int64 {
	if n == 0 {
		return 0
	}
	var bits int64
	for _, s := range a.States(tp, kv) {
		bits += s.bits(n)
	}
	return ceilDiv(bits, 8)
}

// SequenceState is a sequence's cache on one GPU, in bytes: of each token (Growing), of each of
// the last Window tokens (Windowed), and for any length (Fixed).
type SequenceState struct {
	Growing, Windowed float64
	Window            int
	Fixed             float64
	// StateTokens is the number of tokens that take as much in one of the layers that grow as the
	// largest state does in one of the recurrent layers; 0 without either.
	StateTokens int
}

// SequenceState returns what a sequence keeps on one of tp GPUs with its cache stored as kv. Where
// windows differ, all are taken as long as the longest.
func (a *Architecture) SequenceState(tp int, kv hardware.DType) SequenceState {
	var k SequenceState
	var growing, state float64 // of one layer
	for _, s := range a.States(tp, kv) {
		switch {
		case s.FixedBytes > 0:
			k.Fixed += float64(s.Layers) * float64(s.FixedBytes)
			state = max(state, float64(s.FixedBytes))
		case s.Window > 0:
			k.Windowed += s.growth() / 8
			k.Window = max(k.Window, s.Window)
		default:
			k.Growing += s.growth() / 8
			growing = max(growing, float64(s.TokenBits)/8/float64(max(1, s.Every)))
		}
	}
	if growing > 0 {
		k.StateTokens = int(math.Ceil(state / growing))
	}
	return k
}

// Bytes returns what a sequence of n tokens keeps.
func (k SequenceState) Bytes(n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(n)*k.Growing + float64(min(n, k.Window))*k.Windowed + k.Fixed
}

// MultiHead returns the number of query heads, and the bytes that a token would store if each had a
// key and a value of its own; 0 where no layer has heads.
func (a *Architecture) MultiHead(kv hardware.DType) (heads int, bytes float64) {
	all := *a
	all.Groups = slices.Clone(a.Groups)
	for i := range all.Groups {
		switch m := all.Groups[i].Mixer.(type) {
		case *Softmax:
			each := *m
			each.KVHeads, heads = m.Heads, m.Heads
			all.Groups[i].Mixer = &each
		case *MLA:
			each := Softmax{Heads: m.Heads, KVHeads: m.Heads, HeadDim: m.NopeDim + m.RopeDim,
				ValueDim: m.ValueDim}
			heads = m.Heads
			all.Groups[i].Mixer = &each
		}
	}
	return heads, float64(all.KVBytesPerToken(kv))
}

// State is the cache of a sequence in alike layers on one GPU: KV that grows with its context, KV
// of the last tokens only, or state of fixed size.
type State struct {
	// Layers is the number of layers.
	Layers int
	// TokenBits is the size of one token in one layer; 0 for state of fixed size. Every is the
	// number of tokens that share an entry of the given bits, where context is compressed
	// (DeepSeek-V4); 0 means 1.
	TokenBits int64
	Every     int
	// Window is the number of last tokens that are kept; 0 means all.
	Window int
	// FixedBytes is the size of a sequence in one layer, however long it is.
	FixedBytes int64
}

// bits returns what n tokens of a sequence take in all the layers.
func (s *State) bits(n int) int64 {
	if s.Window > 0 {
		n = min(n, s.Window)
	}
	return int64(s.Layers) * (int64(n/max(1, s.Every))*s.TokenBits + 8*s.FixedBytes)
}

// growth returns the bits that a token adds in all layers as long as no window is full, as a
// fraction.
func (s *State) growth() float64 {
	return float64(s.Layers) * float64(s.TokenBits) / float64(max(1, s.Every))
}
