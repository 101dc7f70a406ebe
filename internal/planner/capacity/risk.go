package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// predictionErrors says how wrong predictions may be, in the same way for all requests. The
// logarithms of the real over the predicted times are normally distributed: those of steps with a
// bias and a spread, and those of TTFT with these and, independently, with a bias and a spread of
// its own, which are of all that comes before the first token beside steps. So the errors of both
// latencies are correlated: slow steps make both late.
type predictionErrors struct {
	steps, first normal
}

// normal is a normal distribution of a logarithm.
type normal struct{ bias, spread float64 }

// errorFactors is how far real times are from predicted ones: factors on those of steps, and on
// TTFT beyond that.
type errorFactors struct{ steps, first float64 }

// within reports whether no latency is later than with other errors.
func (w errorFactors) within(other errorFactors) bool {
	return w.steps <= other.steps && w.steps*w.first <= other.steps*other.first
}

// asPredicted is what predictions say.
func asPredicted() errorFactors { return errorFactors{1, 1} }

// physicsOf takes the spreads of both latencies apart. TTFT spreads at least as much as steps do.
func physicsOf(s evidence.Spread) predictionErrors {
	own := max(0, float64(s.TTFT*s.TTFT)-float64(s.TPOT*s.TPOT))
	return predictionErrors{normal{s.TPOTBias, s.TPOT},
		normal{s.TTFTBias - s.TPOTBias, math.Sqrt(own)}}
}

// quantile returns the factor that is not exceeded with the given probability, in (0, 1), with four
// digits, so that equal factors are written the same.
func (n normal) quantile(probability float64) float64 {
	return n.at(distuv.UnitNormal.Quantile(probability))
}

// at returns the factor that is that many standard deviations above the typical one.
func (n normal) at(deviations float64) float64 {
	return max(0.01, math.Round(1e4*math.Exp(n.bias+float64(n.spread*deviations)))/1e4)
}

// below returns the probability that the factor is at most x.
func (n normal) below(x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case n.spread == 0 && math.Log(x) >= n.bias-1e-9:
		return 1
	case n.spread == 0:
		return 0
	}
	return distuv.UnitNormal.CDF((math.Log(x) - n.bias) / n.spread)
}

// late is the distribution of the errors of TTFT, whatever steps take.
func (p predictionErrors) late() normal {
	return normal{p.steps.bias + p.first.bias, math.Sqrt(float64(p.steps.spread*p.steps.spread) +
		float64(p.first.spread*p.first.spread))}
}

// worst returns the errors under which an option is simulated: each latency is as late as it is in
// that share of the cases at most. TTFT is never earlier than steps make it, so that bounds of the
// work that must be done by some time hold.
func (p predictionErrors) worst(confidence float64) errorFactors {
	steps := p.steps.quantile(confidence)
	return errorFactors{steps, max(1, math.Round(1e4*p.late().quantile(confidence)/steps)/1e4)}
}
