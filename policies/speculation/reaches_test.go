package speculation

import (
	"math"
	"testing"
)

// Of two kinds of requests, the one that gets fewer tokens from a step takes more steps, and counts
// by these: in 100 tokens of each, the first takes 50 steps, of which all accept one token, and the
// second 100, of which none does.
func TestKindsCountByTheirSteps(t *testing.T) {
	d := &Draft{Reach: [][]float64{{1}, {0}}}
	if got := d.reaches(1); math.Abs(got-50.0/150) > 1e-15 {
		t.Errorf("%g of the steps accept the token, want a third", got)
	}
	alone := &Draft{Reach: [][]float64{{0.7, 0.3}}}
	if got := alone.reaches(2); got != 0.3 {
		t.Errorf("%g of the steps of one kind accept two tokens, want 0.3", got)
	}
}
