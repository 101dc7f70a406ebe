package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// physics says how wrong predicted step times may be, all in the same way: the logarithm of the
// real over the predicted time is normally distributed around a bias, with a standard deviation of
// spread.
type physics struct{ bias, spread float64 }

// quantile returns the factor on predicted step times that is not exceeded with the given
// probability, in (0, 1).
func (p physics) quantile(probability float64) float64 {
	return math.Exp(p.bias + float64(p.spread*distuv.UnitNormal.Quantile(probability)))
}

// slowdown returns the factor under which an option is simulated, so that a fleet that keeps the
// SLO then keeps it with the asked confidence. It has four digits, so that equal factors are
// written the same.
func (p physics) slowdown(confidence float64) float64 {
	return max(0.01, math.Round(p.quantile(confidence)*1e4)/1e4)
}
