package arrivals

import "math"

// sine returns the sine of an angle in turns. It gives the same bits on every machine, which
// math.Sin does not: each product is rounded before it is added, also where a processor could do
// both at once.
func sine(turns float64) float64 {
	turns -= math.Round(turns) // from -1/2 to 1/2
	switch {
	case turns > 0.25:
		turns = 0.5 - turns
	case turns < -0.25:
		turns = -0.5 - turns
	}
	// The Taylor series; its next term is below 1e-18 up to a quarter of a turn.
	x := 2 * math.Pi * turns
	square := float64(x * x)
	sum := 0.0
	for n := 21.0; n > 1; n -= 2 {
		sum = float64((1-sum)*square) / (n * (n - 1))
	}
	return x * (1 - sum)
}

// cosine returns the cosine of an angle in turns, see sine.
func cosine(turns float64) float64 { return sine(turns + 0.25) }
