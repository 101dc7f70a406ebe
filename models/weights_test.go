package models

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
)

// Llama-2-70B takes 137.95 GB (128.5 GiB) in fp16: too much for one A100-80GB, and room left on
// two. One token at batch 1 streams all but the input embedding, so that 2,039 GB/s cannot beat
// 67.4 ms.
func TestLlama2_70BWeights(t *testing.T) {
	a := model(t, "llama-2-70b")
	if got := a.Parameters().Total(); got != 68_976_648_192 {
		t.Errorf("%d parameters", got)
	}
	bytes := a.WeightBytes(hardware.FP16)
	if bytes != 137_953_296_384 {
		t.Errorf("%d bytes", bytes)
	}
	near(t, "GiB", float64(bytes)/(1<<30), 128.5, 0.001)
	const a100 = 80 << 30
	if bytes <= a100 || a.WeightBytesPerGPU(hardware.FP16, 2, 1) >= a100*9/10 {
		t.Errorf("fits one A100-80GB, or does not fit two")
	}
	near(t, "ms a token at 2,039 GB/s", float64(a.StreamedBytes(hardware.FP16))/2039e9*1e3, 67.4,
		0.0005)
}

// A GPU of one holds all weights; GPUs of a group together hold all, and besides only copies of
// what cannot be split.
func TestWeightBytesPerGPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		d := rapid.SampledFrom([]hardware.DType{hardware.FP32, hardware.BF16, hardware.FP8,
			hardware.INT4, hardware.FP4}).Draw(t, "dtype")
		all := a.WeightBytes(d)
		if one := a.WeightBytesPerGPU(d, 1, 1); one != all {
			t.Fatalf("one GPU holds %d bytes of %d", one, all)
		}
		tp := 1 << rapid.IntRange(0, 4).Draw(t, "tp")
		pp := rapid.IntRange(1, a.Layers()).Draw(t, "pp")
		share := a.WeightBytesPerGPU(d, tp, pp)
		if share*int64(tp*pp) < all || share > all {
			t.Fatalf("%d × %d GPUs hold at most %d bytes each of %d", tp, pp, share, all)
		}
	})
}

// The split dimension of each matrix times the number of GPUs is the whole dimension, where the
// number divides it.
func TestShardsAddUp(t *testing.T) {
	for _, a := range mustLoad(t).All() {
		for tp := 2; tp <= 64; tp *= 2 {
			widths := []int{a.Vocab}
			for _, g := range a.Groups {
				switch m := g.MLP.(type) {
				case *Dense:
					widths = append(widths, m.Intermediate)
				case *MoE:
					widths = append(widths, m.Intermediate, m.SharedIntermediate)
				}
				switch m := g.Mixer.(type) {
				case *Softmax:
					widths = append(widths, m.KVHeads)
				case *ParallelMixers: // whose groups of the state are fewer than GPUs
					widths = append(widths, m.Other.(*Recurrent).KeyHeads)
				case *Recurrent:
					widths = append(widths, m.KeyHeads)
				}
			}
			if a.FitsTensor(tp) != nil ||
				slices.ContainsFunc(widths, func(n int) bool { return n%tp != 0 }) {
				continue
			}
			whole, shards := a.LinearLayers(1), a.LinearLayers(tp)
			for i, l := range shards {
				w := whole[i]
				kept := l.N == w.N && l.K == w.K
				if split := l.Weights()*int64(tp) == w.Weights(); split == kept {
					t.Errorf("%s %s at TP %d: %d×%d of %d×%d", a.Name, l.Name, tp, l.N, l.K, w.N,
						w.K)
				}
			}
		}
	}
}

// A token streams no more than all weights, and with experts much less; a group of int4 weights
// takes 4.16 bits each.
func TestStreamedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		p := a.Parameters()
		if got, most := a.StreamedBytes(hardware.BF16), a.WeightBytes(hardware.BF16); got > most {
			t.Fatalf("streams %d bytes of %d", got, most)
		}
		quantised := p.Attention + p.MLP + p.Experts + p.SharedExperts
		saved := float64(a.WeightBytes(hardware.BF16) - a.WeightBytes(hardware.INT4))
		want := float64(quantised) * (16 - 4 - 20./128) / 8
		if saved > want || saved < want-68 { // a group of 128 may be padded
			t.Fatalf("int4 saves %g bytes, want %g", saved, want)
		}
	})
}

// kipply: 52 B parameters are 104 GB, whose layers an A100 of 1.5 TB/s streams in 69 ms, and 13 B
// take 16.8 ms.
func TestKipplyStreaming(t *testing.T) {
	a := kipply52B()
	p := a.Parameters()
	near(t, "ms a token", float64(2*(p.Attention+p.MLP))/1.5e12*1e3, 69, 0.01)
	near(t, "GB", float64(a.WeightBytes(hardware.FP16))/1e9, 104, 0.01)
}

// vLLM (arXiv:2309.06180, table 1): the memory that parameters take.
func TestVLLMTable1Weights(t *testing.T) {
	for name, gb := range map[string]float64{"opt-13b": 26, "opt-66b": 132, "opt-175b": 346} {
		near(t, name, float64(model(t, name).WeightBytes(hardware.FP16))/1e9, gb, 0.012)
	}
}
