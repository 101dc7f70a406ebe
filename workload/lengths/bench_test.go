package lengths

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkDraw(b *testing.B) {
	for _, d := range families() {
		b.Run(d.String(), func(b *testing.B) {
			src := rand.NewPCG(1, 2)
			for b.Loop() {
				d.Draw(src)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.Run("normal", func(b *testing.B) {
		for b.Loop() {
			if _, err := Normal(500, 200, 2, 2000); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lognormal to a context of 131072", func(b *testing.B) {
		for b.Loop() {
			if _, err := LogNormal(1000, 2, 1, 131072); err != nil {
				b.Fatal(err)
			}
		}
	})
}
