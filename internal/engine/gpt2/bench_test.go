package gpt2

import (
	"fmt"
	"os"
	"testing"

	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/testkit"
)

// largeModel loads the model in $LLMSIM_GPT2, such as one that "llmsim gpt2 init --shape 124M"
// wrote.
func largeModel(b *testing.B, o Options) *Model {
	dir := os.Getenv("LLMSIM_GPT2")
	if dir == "" {
		b.Skip("LLMSIM_GPT2 does not name a folder with weights")
	}
	return loadModel(b, dir, o)
}

// BenchmarkDecode runs steps of one token for each of batch sequences.
func BenchmarkDecode(b *testing.B) {
	for _, format := range []kernels.Format{kernels.F32, kernels.BF16, kernels.Int8} {
		m := largeModel(b, Options{Format: format})
		for _, threads := range []int{1, 2} {
			for _, c := range []struct{ batch, context int }{{1, 32}, {8, 32}, {16, 1023}} {
				b.Run(fmt.Sprintf("%v/threads=%d/batch=%d/context=%d", format, threads, c.batch,
					c.context), func(b *testing.B) {
					per := (c.context + BlockTokens) / BlockTokens
					r := newRunner(b, m, c.batch*per, threads, kernels.Best())
					batch := make([]Segment, c.batch)
					for i := range batch {
						batch[i] = Segment{Tokens: []int32{int32(i)}, Start: c.context - 1,
							Blocks: table(i*per, per), Logits: 1}
					}
					b.ReportAllocs()
					for b.Loop() {
						testkit.OK(b, r.Forward(batch))
					}
					b.ReportMetric(float64(b.N*c.batch)/b.Elapsed().Seconds(), "tokens/s")
					b.ReportMetric(float64(b.N)*float64(m.WeightBytes())/b.Elapsed().Seconds()/1e9,
						"weightsGB/s")
				})
			}
		}
	}
}

func BenchmarkPrefill(b *testing.B) {
	for _, format := range []kernels.Format{kernels.F32, kernels.Int8} {
		m := largeModel(b, Options{Format: format})
		for _, threads := range []int{1, 2} {
			for _, naive := range []bool{false, true} {
				b.Run(fmt.Sprintf("%v/threads=%d/naive=%v", format, threads, naive),
					func(b *testing.B) {
						r := newRunner(b, m, 16, threads, kernels.Best())
						r.Naive = naive
						batch := []Segment{
							{Tokens: make([]int32, 512), Blocks: table(0, 16), Logits: 1}}
						for b.Loop() {
							testkit.OK(b, r.Forward(batch))
						}
						b.ReportMetric(512*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
					})
			}
		}
	}
}
