package metrics

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// Each number is within the accuracy of what stands for its bucket, and buckets follow each other.
func TestBucketsKeepTheirAccuracy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBuckets(rapid.SampledFrom([]float64{requestAccuracy, tokenAccuracy}).Draw(t,
			"accuracy"))
		x := math.Exp2(rapid.Float64Range(0, 63).Draw(t, "logarithm"))
		i := b.index(x)
		if got := b.value(i); math.Abs(got/x-1) > b.accuracy*1.0001 {
			t.Fatalf("%g is in bucket %d of %g: off by %g", x, i, got, got/x-1)
		}
		if least := b.least(i); b.index(least) != i || least > x || i > 0 &&
			b.index(math.Nextafter(least, 0)) >= i {
			t.Fatalf("bucket %d begins at %g", i, least)
		}
	})
}

// The figures of a distribution are the same bits on every machine, also where products and sums
// are fused: run it with GOAMD64=v3, or for arm64 under qemu.
func TestFiguresAreTheSameOnEveryMachine(t *testing.T) {
	d, err := NewDistribution(requestAccuracy)
	testkit.OK(t, err)
	rng, hash := rand.New(rand.NewPCG(1, 2)), fnv.New64a()
	for n := range 20_000 {
		d.Add(sim.Time(rng.Int64N(1 << (10 + n%40))))
		if n%5000 == 4999 {
			fmt.Fprint(hash, d.Mean(), d.Std(), d.Quantile(0.5), d.Quantile(0.9), d.Quantile(0.99),
				d.Histogram(36))
		}
	}
	const want = 0x6cd8acfd114a7930
	if got := hash.Sum64(); got != want {
		t.Errorf("the figures hash to %#x, want %#x", got, uint64(want))
	}
}
