// Package lengths holds distributions of token counts: how long prompts and answers are.
//
// Every distribution has whole numbers between two bounds as its values. A draw inverts the
// cumulative distribution, with one random number. A continuous distribution is rounded to the
// nearest token and truncated. Nothing is drawn outside the bounds, and the proportions inside them
// are kept, as if draws outside had been thrown away and drawn again. (Clamping would instead
// collect requests at the bounds.) Mean returns the mean after truncation.
package lengths

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// MaxTokens is the largest length a distribution may reach. Real contexts end at about 10 million
// tokens. Tables of that size would take more memory than the simulation.
const MaxTokens = 1 << 22

// minMass is the smallest probability that may lie within the bounds. Below it the bounds are
// certainly a mistake, and differences of the cumulative distribution lose their digits.
const minMass = 1e-6

// Distribution is a distribution of token counts. It is immutable and safe for concurrent use.
type Distribution struct {
	table *Table
	// The outcome i is values[i] tokens, or min+i tokens where values is nil.
	values   []int
	min, max int
	mean     float64
	variance float64
	text     string
}

// Draw returns a random length in tokens, at least 1, for exactly one number of src.
func (d *Distribution) Draw(src rand.Source) int { return d.At(src.Uint64()) }

// At returns the length at the quantile u / 2^64; it grows with u.
func (d *Distribution) At(u uint64) int {
	i := d.table.At(u)
	if d.values != nil {
		return d.values[i]
	}
	return d.min + i
}

// Mean returns the mean in tokens.
func (d *Distribution) Mean() float64 { return d.mean }

// Variance returns the variance in tokens squared.
func (d *Distribution) Variance() float64 { return d.variance }

// Min returns the smallest length that is drawn.
func (d *Distribution) Min() int { return d.min }

// Max returns the largest length that is drawn.
func (d *Distribution) Max() int { return d.max }

// String describes the distribution in a few words: "normal(500, 200) in [2, 2000]".
func (d *Distribution) String() string { return d.text }

// fromWeights returns the distribution in which weights[i] belongs to min+i tokens, or to values[i]
// where values is given.
func fromWeights(text string, min int, values []int, weights []float64) (*Distribution, error) {
	table, err := NewTable(weights)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	d := &Distribution{table: table, values: values, min: min, max: min + len(weights) - 1,
		text: text}
	if values != nil {
		d.min, d.max = values[0], values[len(values)-1]
	}
	d.moments(weights)
	return d, nil
}

// moments sets mean and variance.
func (d *Distribution) moments(weights []float64) {
	tokens := func(i int) float64 {
		if d.values != nil {
			return float64(d.values[i])
		}
		return float64(d.min + i)
	}
	total, sum := 0.0, 0.0
	for i, w := range weights {
		total += w
		sum += w * tokens(i)
	}
	d.mean = sum / total
	squares := 0.0
	for i, w := range weights {
		squares += w * (tokens(i) - d.mean) * (tokens(i) - d.mean)
	}
	d.variance = squares / total
}

// truncated returns the rounded distribution with the given cumulative distribution between min and
// max.
func truncated(name string, cdf func(float64) float64, min, max int) (*Distribution, error) {
	text := fmt.Sprintf("%s in [%d, %d]", name, min, max)
	if err := checkBounds(text, min, max); err != nil {
		return nil, err
	}
	weights := make([]float64, max-min+1)
	first := cdf(float64(min) - 0.5)
	below := first
	for i := range weights {
		upTo := cdf(float64(min+i) + 0.5)
		weights[i] = math.Max(upTo-below, 0)
		below = upTo
	}
	if mass := below - first; !(mass >= minMass) {
		return nil, fmt.Errorf(
			"%s: only a share of %.2g lies between the bounds, allowed: at least %g; widen them "+
				"or move the mean", text, mass, minMass)
	}
	return fromWeights(text, min, nil, weights)
}

// checkBounds refuses bounds that hold no token count.
func checkBounds(text string, min, max int) error {
	switch {
	case min < 1:
		return fmt.Errorf("%s: min: found %d, allowed: 1 to %d tokens", text, min, MaxTokens)
	case max > MaxTokens:
		return fmt.Errorf("%s: max: found %d, allowed: 1 to %d tokens", text, max, MaxTokens)
	case min > max:
		return fmt.Errorf("%s: min %d is above max %d", text, min, max)
	}
	return nil
}

// checkPositive refuses a parameter that is not a finite number above zero.
func checkPositive(text, field string, value float64) error {
	if !(value > 0) || math.IsInf(value, 1) {
		return fmt.Errorf("%s: %s: found %v, allowed: finite numbers above 0", text, field, value)
	}
	return nil
}

// checkSpread refuses a parameter that is not a finite number from zero.
func checkSpread(text, field string, value float64) error {
	if !(value >= 0) || math.IsInf(value, 1) {
		return fmt.Errorf("%s: %s: found %v, allowed: finite numbers from 0", text, field, value)
	}
	return nil
}
