package scenarios

import (
	"io/fs"

	"github.com/llmsim/llmsim/workload/lengths"
)

// distribution returns the distribution of token counts. An empirical distribution is read from a
// file of fsys.
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
