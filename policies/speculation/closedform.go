package speculation

import "math"

// ExpectedTokens returns the mean number of tokens that a step gives when gamma drafted tokens are
// accepted with probability alpha each, up to the first rejection: (1 − α^(γ+1))/(1 − α) (Leviathan
// et al. 2023, equation 1). alpha is in [0, 1].
func ExpectedTokens(alpha float64, gamma int) float64 {
	if alpha == 1 {
		return float64(gamma + 1)
	}
	return (1 - math.Pow(alpha, float64(gamma+1))) / (1 - alpha)
}

// Speedup returns the expected improvement of the wall time, (1 − α^(γ+1))/((1 − α)(γc + 1))
// (Leviathan et al. 2023, theorem 3.8). cost is the time to draft a token, as a share of the time
// of a step of the model. Verifying is assumed to take no longer than decoding.
func Speedup(alpha float64, gamma int, cost float64) float64 {
	return ExpectedTokens(alpha, gamma) / (float64(gamma)*cost + 1)
}

// Operations returns the factor by which the expected number of operations for the same text grows,
// (1 − α)(γĉ + γ + 1)/(1 − α^(γ+1)) (Leviathan et al. 2023, theorem 3.11). cost is the number of
// operations to draft a token, as a share of the operations of the model for a token.
func Operations(alpha float64, gamma int, cost float64) float64 {
	return (float64(gamma)*cost + float64(gamma+1)) / ExpectedTokens(alpha, gamma)
}

// OptimalLength returns the gamma in [0, most] with the largest Speedup, and of equal ones the
// smallest (Leviathan et al. 2023, section 3.5). It is 0 unless alpha is above cost (corollary
// 3.9).
func OptimalLength(alpha, cost float64, most int) int {
	best := 0
	for gamma := 1; gamma <= most; gamma++ {
		if Speedup(alpha, gamma, cost) > Speedup(alpha, best, cost) {
			best = gamma
		}
	}
	return best
}
