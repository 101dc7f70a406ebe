package engine

import (
	"fmt"
	"testing"

	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/testkit"
)

// TestRatesArePhysical checks that the rates are positive and below what any machine reaches.
func TestRatesArePhysical(t *testing.T) {
	for _, set := range kernels.Available() {
		pool := kernels.NewPool(2)
		p, err := NewProbe(pool, set, 1<<20)
		testkit.OK(t, err)
		if rate := p.ReadBandwidth(); !(rate > 1e6 && rate < 1e14) {
			t.Errorf("%s: read bandwidth %v B/s", set.Name, rate)
		}
		if rate := p.MatrixRate(); !(rate > 1e6 && rate < 1e15) {
			t.Errorf("%s: %v FLOP/s", set.Name, rate)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		pool.Close()
	}
}

// TestEveryByteIsRead checks that the sum over the memory is complete.
func TestEveryByteIsRead(t *testing.T) {
	pool := kernels.NewPool(2)
	defer pool.Close()
	p, err := NewProbe(pool, kernels.Best(), 3<<20)
	testkit.OK(t, err)
	defer p.Close()
	for i := range p.read.data {
		p.read.data[i] = 1
	}
	p.ReadBandwidth()
	sum := float32(0)
	for _, s := range p.read.sums {
		sum += s
	}
	if want := float32(3 << 18); sum != want {
		t.Errorf("read %v elements, want %v", sum, want)
	}
}

func BenchmarkProbe(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			pool := kernels.NewPool(threads)
			defer pool.Close()
			p, err := NewProbe(pool, kernels.Best(), DefaultProbeBytes)
			testkit.OK(b, err)
			defer p.Close()
			bandwidth, rate := 0.0, 0.0
			for b.Loop() {
				bandwidth, rate = max(bandwidth, p.ReadBandwidth()), max(rate, p.MatrixRate())
			}
			b.ReportMetric(bandwidth/1e9, "best-GB/s")
			b.ReportMetric(rate/1e9, "best-GFLOP/s")
		})
	}
}
