// Package discrete draws from finite distributions: one random number and a constant expected time
// a draw.
package lengths

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// Table is a probability distribution over 0, 1, …, n−1, drawn by inverting its cumulative
// distribution with the help of a guide table (Chen and Asau 1974; Devroye, Non-Uniform Random
// Variate Generation, 1986, section III.2.4).
//
// A draw takes exactly one random number and grows with it, so that two tables fed with the same
// numbers give draws of equal rank: what a comparison under common random numbers wants.
type Table struct {
	// below[i] is the smallest number, on a scale of 2^63, that draws more than i.
	below []uint64
	// guide[b] is the smallest outcome that a number whose leading bits are b can draw.
	guide []uint32
	// shift leaves the leading bits of a 63-bit number.
	shift uint
}

// scale is the end of the range of random numbers, one past the largest.
const scale = 1 << 63

// New returns the distribution that is proportional to weights, which must be finite, not negative,
// and not all zero.
func NewTable(weights []float64) (*Table, error) {
	if uint64(len(weights)) > math.MaxUint32 {
		return nil, fmt.Errorf("found %d weights, allowed at most %d", len(weights),
			uint32(math.MaxUint32))
	}
	total := 0.0
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("weight %d: found %v, allowed: finite numbers from 0", i+1, w)
		}
		total += w
	}
	if total == 0 {
		return nil, errors.New("found no positive weight, allowed: at least one")
	}
	if math.IsInf(total, 1) {
		return nil, errors.New("the sum of the weights is out of range")
	}
	t := &Table{below: make([]uint64, len(weights))}
	sum := 0.0
	for i, w := range weights {
		sum += w
		t.below[i] = uint64(sum / total * scale)
	}
	t.index()
	return t, nil
}

// index builds the guide, with at least one bucket for each outcome.
func (t *Table) index() {
	width := bits.Len(uint(len(t.below) - 1))
	t.guide = make([]uint32, 1<<width)
	t.shift = uint(63 - width)
	i := 0
	for b := range t.guide {
		for t.below[i] <= uint64(b)<<t.shift {
			i++
		}
		t.guide[b] = uint32(i)
	}
}

// Draw returns a random outcome, for one number of src.
func (t *Table) Draw(src rand.Source) int { return t.At(src.Uint64()) }

// At returns the outcome at the quantile u / 2^64.
func (t *Table) At(u uint64) int {
	u >>= 1
	i := int(t.guide[u>>t.shift])
	for t.below[i] <= u {
		i++
	}
	return i
}
