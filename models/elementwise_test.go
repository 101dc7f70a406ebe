package models

import "testing"

// A token of Llama-2-7B moves 32·(2·4·4096 + 2·(32+32)·128 + 3·11008) activations and those of the
// last norm and the embedding; on four GPUs the norms and the embedding stay, the rest is a
// quarter.
func TestElementwiseKernels(t *testing.T) {
	moved := func(tp int) (n int64) {
		for _, k := range model(t, "llama-2-7b").ElementwiseKernels(tp) {
			n += int64(k.Count) * k.Elements
		}
		return n
	}
	const kept, shared = 32*2*4*4096 + 4*4096 + 2*4096, 32 * (2*64*128 + 3*11008)
	if got := moved(1); got != kept+shared {
		t.Errorf("%d elements a token, want %d", got, kept+shared)
	}
	if got := moved(4); got != kept+shared/4 {
		t.Errorf("%d elements a token on one of four GPUs, want %d", got, kept+shared/4)
	}
}
