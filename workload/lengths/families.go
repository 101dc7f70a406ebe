package lengths

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Fixed returns the distribution that always draws the same number of tokens.
func Fixed(tokens int) (*Distribution, error) {
	text := fmt.Sprintf("fixed(%d)", tokens)
	if err := checkBounds(text, tokens, tokens); err != nil {
		return nil, err
	}
	return fromWeights(text, tokens, nil, []float64{1})
}

// Uniform returns the distribution in which every length from min to max, both included, is as
// likely.
func Uniform(min, max int) (*Distribution, error) {
	text := fmt.Sprintf("uniform in [%d, %d]", min, max)
	if err := checkBounds(text, min, max); err != nil {
		return nil, err
	}
	weights := make([]float64, max-min+1)
	for i := range weights {
		weights[i] = 1
	}
	return fromWeights(text, min, nil, weights)
}

// Normal returns the normal distribution with the given mean and standard deviation in tokens,
// rounded and truncated to [min, max]. Both parameters are those before truncation.
func Normal(mean, sd float64, min, max int) (*Distribution, error) {
	name := fmt.Sprintf("normal(%g, %g)", mean, sd)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil, fmt.Errorf("%s: mean: found %v, allowed: finite numbers", name, mean)
	}
	if err := checkSpread(name, "standard deviation", sd); err != nil {
		return nil, err
	}
	if sd == 0 {
		return truncated(name, step(mean), min, max)
	}
	cdf := func(x float64) float64 { return math.Erfc((mean-x)/(sd*math.Sqrt2)) / 2 }
	return truncated(name, cdf, min, max)
}

// LogNormal returns the lognormal distribution with the given mean in tokens and coefficient of
// variation (standard deviation / mean), rounded and truncated to [min, max]. Both parameters are
// those before truncation.
func LogNormal(mean, cv float64, min, max int) (*Distribution, error) {
	name := fmt.Sprintf("lognormal(mean %g, cv %g)", mean, cv)
	if err := checkPositive(name, "mean", mean); err != nil {
		return nil, err
	}
	if err := checkSpread(name, "cv", cv); err != nil {
		return nil, err
	}
	sigma2 := math.Log1p(cv * cv)
	return logNormal(name, math.Log(mean)-sigma2/2, math.Sqrt(sigma2), min, max)
}

// LogNormalMuSigma returns the distribution of exp(X) where X is normal with mean mu and standard
// deviation sigma, rounded and truncated to [min, max] tokens.
func LogNormalMuSigma(mu, sigma float64, min, max int) (*Distribution, error) {
	name := fmt.Sprintf("lognormal(mu %g, sigma %g)", mu, sigma)
	if math.IsNaN(mu) || math.IsInf(mu, 0) {
		return nil, fmt.Errorf("%s: mu: found %v, allowed: finite numbers", name, mu)
	}
	if err := checkSpread(name, "sigma", sigma); err != nil {
		return nil, err
	}
	return logNormal(name, mu, sigma, min, max)
}

func logNormal(name string, mu, sigma float64, min, max int) (*Distribution, error) {
	if sigma == 0 {
		return truncated(name, step(math.Exp(mu)), min, max)
	}
	cdf := func(x float64) float64 { return math.Erfc((mu-math.Log(x))/(sigma*math.Sqrt2)) / 2 }
	return truncated(name, cdf, min, max)
}

// Gamma returns the gamma distribution with the given mean in tokens and coefficient of variation,
// rounded and truncated to [min, max]. Both parameters are those before truncation; a cv of 1 is
// the exponential distribution.
func Gamma(mean, cv float64, min, max int) (*Distribution, error) {
	name := fmt.Sprintf("gamma(mean %g, cv %g)", mean, cv)
	if err := checkPositive(name, "mean", mean); err != nil {
		return nil, err
	}
	if err := checkSpread(name, "cv", cv); err != nil {
		return nil, err
	}
	if cv == 0 {
		return truncated(name, step(mean), min, max)
	}
	shape := 1 / (cv * cv)
	if err := checkPositive(name, "1/cv²", shape); err != nil {
		return nil, err
	}
	return truncated(name, distuv.Gamma{Alpha: shape, Beta: shape / mean}.CDF, min, max)
}

// Exponential returns the exponential distribution with the given mean in tokens, rounded and
// truncated to [min, max]. The mean is the one before truncation.
func Exponential(mean float64, min, max int) (*Distribution, error) {
	name := fmt.Sprintf("exponential(%g)", mean)
	if err := checkPositive(name, "mean", mean); err != nil {
		return nil, err
	}
	return truncated(name, func(x float64) float64 { return -math.Expm1(-x / mean) }, min, max)
}

// Zipf returns the distribution in which the probability of a length k from min to max is
// proportional to k^−exponent. An exponent of 0 is the uniform distribution.
func Zipf(exponent float64, min, max int) (*Distribution, error) {
	text := fmt.Sprintf("zipf(%g) in [%d, %d]", exponent, min, max)
	if err := checkSpread(text, "exponent", exponent); err != nil {
		return nil, err
	}
	if err := checkBounds(text, min, max); err != nil {
		return nil, err
	}
	weights := make([]float64, max-min+1)
	for i := range weights {
		// Relative to the shortest length, so that large exponents do not underflow.
		weights[i] = math.Pow(float64(min+i)/float64(min), -exponent)
	}
	return fromWeights(text, min, nil, weights)
}

// step is the cumulative distribution of a constant.
func step(at float64) func(float64) float64 {
	return func(x float64) float64 {
		if x > at {
			return 1
		}
		return 0
	}
}
