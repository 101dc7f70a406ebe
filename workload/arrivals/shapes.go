package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/sim"
)

// Shape is the distribution of a random span of time, at least 0, in units of its mean.
type Shape interface {
	// Sampler checks the parameters and returns a function that draws from src; draws have mean 1.
	Sampler(src rand.Source) (func() float64, error)
	// String names the shape: "gamma (cv 2)".
	String() string
}

// MaxCV is the largest coefficient of variation (standard deviation / mean) of a shape. Measured
// traffic stays below 10. Far above that, even a long run has no typical gap.
const MaxCV = 100

// MinCV is the smallest coefficient of variation of a shape other than Constant. Below it a
// simulation could not tell the gaps from equal ones, and the arithmetic of a gamma distribution
// with shape 1/cv² loses its digits.
const MinCV = 0.001

// Constant spans are all equal.
type Constant struct{}

// Sampler implements Shape.
func (Constant) Sampler(rand.Source) (func() float64, error) {
	return func() float64 { return 1 }, nil
}

func (Constant) String() string { return "constant" }

// Exponential spans have no memory; as gaps between arrivals they make a Poisson process.
type Exponential struct{}

// Sampler implements Shape.
func (Exponential) Sampler(src rand.Source) (func() float64, error) {
	return rand.New(src).ExpFloat64, nil
}

func (Exponential) String() string { return "exponential" }

// Gamma spans have a coefficient of variation CV in [MinCV, MaxCV]: below 1 smoother than Poisson,
// above 1 burstier.
type Gamma struct{ CV float64 }

// Sampler implements Shape.
func (g Gamma) Sampler(src rand.Source) (func() float64, error) {
	if err := checkCV(g.CV); err != nil {
		return nil, fmt.Errorf("gamma: %w", err)
	}
	shape := 1 / (g.CV * g.CV)
	return distuv.Gamma{Alpha: shape, Beta: shape, Src: src}.Rand, nil
}

func (g Gamma) String() string { return fmt.Sprintf("gamma (cv %g)", g.CV) }

// Weibull spans have either the shape parameter K in [0.1, 1000] (below 1 heavy-tailed, 1
// exponential, above 1 smoother) or the coefficient of variation CV in [0.002, MaxCV]; the other is
// 0.
type Weibull struct{ K, CV float64 }

// Bounds of the shape parameter K; they cover the allowed coefficients of variation.
const minWeibullK, maxWeibullK = 0.1, 1000

// Sampler implements Shape.
func (w Weibull) Sampler(src rand.Source) (func() float64, error) {
	k := w.K
	switch {
	case (w.K == 0) == (w.CV == 0):
		return nil, fmt.Errorf(
			"weibull: found shape %g and cv %g, allowed: one of the two, the other left out", w.K,
			w.CV)
	case w.K == 0:
		if !(w.CV >= 0.002 && w.CV <= MaxCV) {
			return nil, fmt.Errorf("weibull: cv: found %v, allowed: 0.002 to %d", w.CV, MaxCV)
		}
		k = weibullK(w.CV)
	case !(w.K >= minWeibullK && w.K <= maxWeibullK):
		return nil, fmt.Errorf("weibull: shape: found %v, allowed: %g to %d", w.K, minWeibullK,
			maxWeibullK)
	}
	return distuv.Weibull{K: k, Lambda: 1 / math.Gamma(1+1/k), Src: src}.Rand, nil
}

func (w Weibull) String() string {
	if w.K != 0 {
		return fmt.Sprintf("Weibull (shape %g)", w.K)
	}
	return fmt.Sprintf("Weibull (cv %g)", w.CV)
}

// weibullK returns the shape parameter that gives the coefficient of variation cv, from cv² =
// Γ(1+2/k)/Γ(1+1/k)² − 1, which falls as k grows.
func weibullK(cv float64) float64 {
	want := math.Log1p(cv * cv)
	low, high := minWeibullK, float64(maxWeibullK)
	for range 100 {
		k := math.Sqrt(low * high)
		second, _ := math.Lgamma(1 + 2/k)
		first, _ := math.Lgamma(1 + 1/k)
		if second-2*first > want {
			low = k
		} else {
			high = k
		}
	}
	return high
}

// LogNormal spans have a coefficient of variation CV in [MinCV, MaxCV].
type LogNormal struct{ CV float64 }

// Sampler implements Shape.
func (l LogNormal) Sampler(src rand.Source) (func() float64, error) {
	if err := checkCV(l.CV); err != nil {
		return nil, fmt.Errorf("lognormal: %w", err)
	}
	variance := math.Log1p(l.CV * l.CV)
	return distuv.LogNormal{Mu: -variance / 2, Sigma: math.Sqrt(variance), Src: src}.Rand, nil
}

func (l LogNormal) String() string { return fmt.Sprintf("lognormal (cv %g)", l.CV) }

func checkCV(cv float64) error {
	if !(cv >= MinCV && cv <= MaxCV) {
		return fmt.Errorf("cv: found %v, allowed: %g to %d, or constant gaps", cv, MinCV, MaxCV)
	}
	return nil
}

// Delay is a random span of time, such as the time a user thinks.
type Delay struct {
	// Mean is the mean span, at least 0.
	Mean sim.Time
	// Shape is its distribution; nil means Constant.
	Shape Shape
}

// Sampler checks the parameters and returns a function that draws spans from src.
func (d Delay) Sampler(src rand.Source) (func() sim.Time, error) {
	if d.Mean < 0 || d.Mean == sim.Never {
		return nil, fmt.Errorf("delay: mean: found %v, allowed: finite spans from 0", d.Mean)
	}
	draw, err := d.shape().Sampler(src)
	if err != nil {
		return nil, fmt.Errorf("delay: %w", err)
	}
	mean := d.Mean.Seconds()
	return func() sim.Time { return sim.Seconds(mean * draw()) }, nil
}

func (d Delay) shape() Shape {
	if d.Shape == nil {
		return Constant{}
	}
	return d.Shape
}

// String describes the delay: "5s exponential".
func (d Delay) String() string { return d.Mean.String() + " " + d.shape().String() }
