package speculation

import (
	"math"
	"math/bits"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// near fails unless the number n of hits in draws of the given chance is within
// five standard deviations.
func near(t *testing.T, what string, n, draws int, chance float64) {
	t.Helper()
	want := float64(draws) * chance
	if math.Abs(float64(n)-want) > 5*math.Sqrt(want*(1-chance))+1e-9 {
		t.Errorf("%s: %d of %d draws, want %.0f", what, n, draws, want)
	}
}

// Draws follow their law: the number of accepted tokens is geometric up to the length of the draft,
// and those of different steps, requests and blocks are independent, as far as pairs show.
func TestDrawsFollowTheirLaw(t *testing.T) {
	for _, alpha := range []float64{0.03, 0.5, 0.7, 0.85, 1 - 1e-6} {
		acceptance, err := Constant(alpha)
		testkit.OK(t, err)
		const length, requests, blocks = 5, 300, 20
		p, err := New(Config{Acceptance: acceptance, Shape: Shape{Depth: length, Width: 1}})
		testkit.OK(t, err)
		var counts [length + 1]int
		all := 0
		var last uint64          // the first tokens of the block before
		var above [blocks]uint64 // and those of the request before
		bothLast, bothNext, bothAbove := 0, 0, 0
		for id := range requests {
			d := state{length: length}
			for block := range blocks {
				p.draw(&sim.Sequence{Request: sim.Request{ID: int64(id)}}, &d, uint64(block)*64)
				for bit := range uint64(64) {
					counts[d.accepted(bit)]++
				}
				first := d.reached()[0]
				all += 64
				bothLast += bits.OnesCount64(first & last)
				bothNext += bits.OnesCount64(first & bits.RotateLeft64(first, 1))
				bothAbove += bits.OnesCount64(first & above[block])
				last, above[block] = first, first
			}
		}
		for n, found := range counts {
			chance := math.Pow(alpha, float64(n))
			if n < length {
				chance *= 1 - alpha
			}
			near(t, "accepted tokens", found, all, chance)
		}
		near(t, "in a block and the one before", bothLast, all-64, alpha*alpha)
		near(t, "in a step and the next", bothNext, all, alpha*alpha)
		near(t, "in a request and another", bothAbove, all-64*blocks, alpha*alpha)
	}
}

// Kinds of requests are equally frequent, and all draws of a seed differ from those of another.
func TestKindsAreEquallyFrequent(t *testing.T) {
	acceptance, err := Beta(0.7, 0.2)
	testkit.OK(t, err)
	const requests = 100_000
	var counts [2][kinds]int
	same := 0
	for id := range requests {
		var kind [2]int
		for seed := range kind {
			p := Speculator{c: Config{Acceptance: acceptance, Seed: uint64(seed)}}
			kind[seed] = p.kind(&sim.Sequence{Request: sim.Request{ID: int64(id)}})
			counts[seed][kind[seed]]++
		}
		if kind[0] == kind[1] {
			same++
		}
	}
	for seed := range counts {
		for _, n := range counts[seed] {
			near(t, "requests of a kind", n, requests, 1.0/kinds)
		}
	}
	near(t, "requests of the same kind under two seeds", same, requests, 1.0/kinds)
}
