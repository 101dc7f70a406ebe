package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkStream reads 256 MiB of weights from memory, as decode does; MB/s is the bandwidth
// reached.
func BenchmarkStream(b *testing.B) {
	const in, out = 768, 1 << 26 / 768
	x, y := normals(rand.New(rand.NewPCG(1, 1)), 32*in), make([]float32, 32*(out+PanelWidth))
	for _, format := range []Format{F32, BF16, Int8} {
		m := newMatrix(b, in, out, format, make([]float32, in*out))
		for _, s := range Available()[1:] {
			for _, rows := range []int{1, 4, 8, 12, 16, 32} {
				b.Run(fmt.Sprintf("%v/%s/rows=%d", format, s.Name, rows), func(b *testing.B) {
					b.SetBytes(int64(m.Bytes()))
					operand := prepared(s, x, in, rows, &m)
					for b.Loop() {
						for p := range m.Panels() {
							s.MulAdd(y, m.Panels()*PanelWidth, operand, &m, p, p+1)
						}
					}
				})
			}
		}
	}
}

// BenchmarkPrefill multiplies 504 rows, as prefill does.
func BenchmarkPrefill(b *testing.B) {
	const in, out, rows, ldx = 768, 3072, 504, 768 + 16
	x, y := normals(rand.New(rand.NewPCG(1, 1)), rows*ldx), make([]float32, rows*out)
	for _, format := range []Format{F32, BF16, Int8} {
		m := newMatrix(b, in, out, format, make([]float32, in*out))
		for _, s := range Available() {
			for _, group := range []int{1, 2, 4, 8} {
				b.Run(fmt.Sprintf("%v/%s/group=%d", format, s.Name, group), func(b *testing.B) {
					for b.Loop() {
						operand := prepared(s, x, ldx, rows, &m)
						for p := 0; p < m.Panels(); p += group {
							s.MulAdd(y, out, operand, &m, p, p+group)
						}
					}
					b.ReportMetric(2*in*out*rows*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}
