package metrics

import "math"

// buckets divides the numbers from 1 up so that each bucket's value is within a relative accuracy
// of all numbers in it. The bounds are at equal steps of a cubic interpolation of the logarithm
// between powers of two (DDSketch: Masson, Rim and Lee, VLDB 2019; github.com/DataDog/sketches-go,
// cubically interpolated mapping).
//
// The same number falls into the same bucket on every machine: each product is rounded before it is
// added, also where a processor could do both at once, and bounds are found with the same
// arithmetic.
type buckets struct{ accuracy, perOctave float64 }

// The interpolation is ((a·s + b)·s + c)·s for a significand of 1 + s.
const (
	cubicA = 6.0 / 35.0
	cubicB = -3.0 / 5.0
	cubicC = 10.0 / 7.0
)

// newBuckets returns buckets of a relative accuracy in (0, 1).
func newBuckets(accuracy float64) buckets {
	gamma := math.Pow((1+accuracy)/(1-accuracy), 10*math.Ln2/7)
	// Logarithms differ between machines in their last bits, which are rounded off.
	const grain = 1 << 30
	return buckets{accuracy, math.Round(grain/math.Log2(gamma)) / grain}
}

// index returns the bucket of x, which is at least 1.
func (b buckets) index(x float64) int {
	bits := math.Float64bits(x)
	exponent := float64(int(bits>>52) - 1023)
	s := math.Float64frombits(bits&(1<<52-1)|1023<<52) - 1
	logarithm := float64(cubicA*s) + cubicB
	logarithm = float64(logarithm*s) + cubicC
	logarithm = float64(logarithm*s) + exponent
	return int(logarithm * b.perOctave)
}

// value returns the number that represents all numbers of a bucket.
func (b buckets) value(index int) float64 { return b.least(index) * (1 + b.accuracy) }

// least returns the smallest number of a bucket. It searches around a guess, which may differ
// between machines, with the arithmetic of index, which does not differ.
func (b buckets) least(index int) float64 {
	if index <= 0 {
		return 1
	}
	// bits of positive numbers are in their order
	below := func(bits uint64) bool { return b.index(math.Float64frombits(bits)) < index }
	low := math.Float64bits(b.guess(index))
	high := low
	for step := uint64(1); !below(low); step *= 8 {
		low -= step
	}
	for step := uint64(1); below(high); step *= 8 {
		high += step
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; below(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Float64frombits(high)
}

// guess returns about the smallest number of a bucket, by Newton's method for the interpolation.
func (b buckets) guess(index int) float64 {
	octave, part := math.Modf(float64(index) / b.perOctave)
	s := part
	for range 4 {
		s -= (((cubicA*s+cubicB)*s+cubicC)*s - part) / ((3*cubicA*s+2*cubicB)*s + cubicC)
	}
	return math.Ldexp(1+s, int(octave))
}
