package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// physics says how wrong predicted step times may be, all in the same way: the logarithm of the
// real over the predicted time is normally distributed.
type physics struct {
	// bias is the mean of the logarithm, spread its standard deviation.
	bias, spread float64
}

// quantile returns the factor on predicted step times that is not exceeded with probability p, in
// (0, 1).
func (p physics) quantile(prob float64) float64 {
	if p.spread == 0 {
		return math.Exp(p.bias)
	}
	return math.Exp(distuv.Normal{Mu: p.bias, Sigma: p.spread}.Quantile(prob))
}

// probability returns how likely it is that steps take at most factor times what is predicted.
func (p physics) probability(factor float64) float64 {
	if p.spread == 0 {
		if math.Log(factor) >= p.bias {
			return 1
		}
		return 0
	}
	return distuv.Normal{Mu: p.bias, Sigma: p.spread}.CDF(math.Log(factor))
}

// slowdown returns the factor under which an option is simulated, so that a fleet that keeps the
// SLO then keeps it with the asked confidence. It has four digits, so that equal factors are
// written the same.
func (p physics) slowdown(confidence float64) float64 {
	return max(0.01, math.Round(p.quantile(confidence)*1e4)/1e4)
}
