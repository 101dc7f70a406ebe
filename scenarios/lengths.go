package scenarios

import (
	"io/fs"
	"math"

	"github.com/llmsim/llmsim/workload/lengths"
)

// distribution returns the distribution of token counts; one that was observed is read from a file of fsys.
func (l *Length) distribution(fsys fs.FS) (*lengths.Distribution, error) {
	switch l.Distribution {
	case "uniform":
		return lengths.Uniform(l.Min, l.Max)
	case "normal":
		return lengths.Normal(l.Mean, l.Std, l.Min, l.Max)
	case "lognormal":
		return lengths.LogNormal(l.Mean, l.CV, l.Min, l.Max)
	case "gamma":
		return lengths.Gamma(l.Mean, l.CV, l.Min, l.Max)
	case "exponential":
		return lengths.Exponential(l.Mean, l.Min, l.Max)
	case "zipf":
		return lengths.Zipf(l.Exponent, l.Min, l.Max)
	case "empirical":
		return lengths.Read(fsys, l.File)
	}
	return lengths.Fixed(l.Value)
}

// Scaled returns the distribution with all lengths multiplied, as far as it is described by numbers: one that is read from a file,
// or left to its default, stays as it is.
func (l Length) Scaled(by float64) Length {
	scale := func(n int) int {
		if n == 0 {
			return 0
		}
		return max(1, int(math.Round(float64(n)*by)))
	}
	l.Value, l.Min, l.Max = scale(l.Value), scale(l.Min), scale(l.Max)
	l.Mean, l.Std = l.Mean*by, l.Std*by
	return l
}
