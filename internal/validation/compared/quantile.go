package compared

import "math"

// Quantile returns the q-quantile of sorted values, interpolated between the nearest ranks as NumPy
// does.
func Quantile(sorted []float64, q float64) float64 {
	rank := q * float64(len(sorted)-1)
	below := int(math.Floor(rank))
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (rank-float64(below))*(sorted[above]-sorted[below])
}
