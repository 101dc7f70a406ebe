package models

import "github.com/llmsim/llmsim/hardware"

// KVBytesPerToken returns the bytes that one token stores in the cache, over all layers and heads: 2·layers·KV heads·head
// dimension elements, and layers·(KVRank+RopeDim) with MLA, whose one vector serves all heads. Scales of a quantised cache are
// neglected.
func (a *Architecture) KVBytesPerToken(kv hardware.DType) int64 {
	return ceilDiv(int64(a.Layers)*a.kvBits(1, kv), 8)
}

// KVBytesPerTokenPerGPU returns the bytes that one token stores on each of tp GPUs. KV heads are split; once tp exceeds their
// number each GPU holds a copy of one. MLA's vector is held by every GPU.
func (a *Architecture) KVBytesPerTokenPerGPU(kv hardware.DType, tp int) int64 {
	return ceilDiv(int64(a.Layers)*a.kvBits(tp, kv), 8)
}

// KVBytesOfSequence returns the bytes that a sequence of n tokens stores on each of tp GPUs. Layers with a sliding window keep
// no more than the window.
func (a *Architecture) KVBytesOfSequence(n int, kv hardware.DType, tp int) int64 {
	full, windowed := a.attentionKinds()
	tokens := int64(full)*int64(n) + int64(windowed)*int64(min(n, a.Window))
	return ceilDiv(tokens*a.kvBits(tp, kv), 8)
}

// kvBits returns the bits that one token stores in one layer on one of tp GPUs.
func (a *Architecture) kvBits(tp int, kv hardware.DType) int64 {
	if m := a.MLA; m != nil {
		return int64(m.KVRank+m.RopeDim) * cacheBits(kv)
	}
	return product(2, split(a.KVHeads, tp), a.HeadDim) * cacheBits(kv)
}

// cacheBits returns the bits of one cached element.
func cacheBits(kv hardware.DType) int64 {
	switch kv {
	case hardware.INT4, hardware.FP4:
		return 4
	case hardware.INT8, hardware.FP8:
		return 8
	case hardware.FP32, hardware.TF32:
		return 32
	default:
		return 16
	}
}
