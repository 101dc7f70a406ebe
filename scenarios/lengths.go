package scenarios

import (
	"cmp"
	"io/fs"

	"github.com/llmsim/llmsim/sim"
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

// The defaults for a scenario that does not describe its load.
const (
	defaultRate     PerSecond = 1
	defaultRequests int64     = 1000
)

func defaultPrompt() Length {
	return Length{Distribution: "normal", Mean: 500, Std: 200, Min: 2, Max: 2000}
}

func defaultOutput() Length {
	return Length{Distribution: "normal", Mean: 250, Std: 100, Min: 2, Max: 1000}
}

// complete fills in the defaults of a distribution; longest bounds it if nothing else does. A
// default length takes at most half of the context, so that a default prompt and a default output
// fit together.
func (l *Length) complete(otherwise Length, longest int) {
	if *l == (Length{}) {
		*l = otherwise
		l.Max = max(1, min(l.Max, longest/2))
		l.Min = min(l.Min, l.Max)
	}
	if l.Distribution != "" && l.Distribution != "fixed" && l.Distribution != "empirical" {
		l.Min, l.Max = cmp.Or(l.Min, 1), cmp.Or(l.Max, longest)
	}
}

// complete fills in the defaults of the rate.
func (r *Rate) complete() {
	switch r.Pattern {
	case "", "steady":
		r.Value = cmp.Or(r.Value, defaultRate)
	case "wave":
		r.Period = cmp.Or(r.Period, Span(24*60*60*sim.Second))
	}
}
