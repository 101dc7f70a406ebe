package evidence

import (
	_ "embed"
	"math"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// Law is the distribution of the logarithm of a measured over a predicted time: Student's t with
// freedom degrees of freedom around Bias. 80 of 100 values lie within Spread·Width80 of Bias, as
// those of a normal distribution with the standard deviation Spread do; beyond that, tails are as
// heavy as those of servers that were left out of the fit, some of which are off by several
// spreads.
type Law struct{ Bias, Spread float64 }

// freedom is the number of degrees of freedom with which the fit weighs errors, too. At 98 %, the
// normal distribution holds 96.6 % of TPOTs of servers left out of the fit, and this one 98.4 %.
const freedom = 4

// Law returns the distribution of which four in five values are in the range.
func (o ErrorRange) Law() Law { return Law{o.Bias, o.Within / Width80} }

// studentWidth is the factor from Width80 of a normal distribution to that of Student's t.
var studentWidth = student(0.9) / Width80

// student returns the quantile of Student's t with four degrees of freedom (Shaw, "Sampling
// Student's T distribution", J. Computational Finance 9(4), 2006).
func student(p float64) float64 {
	root := math.Sqrt(4 * p * (1 - p))
	q := math.Cos(math.Acos(min(1, root))/3) / root
	return math.Copysign(2*math.Sqrt(max(0, q-1)), p-0.5)
}

// Deviations returns how many deviations above the bias a logarithm is at most with a probability
// in (0, 1).
func Deviations(probability float64) float64 { return student(probability) / studentWidth }

// Within returns the probability that a logarithm is at most that many deviations above the bias.
func Within(deviations float64) float64 { return below(deviations*studentWidth, freedom) }

// WithinGiven is Within for an error that is independent of another which is known to be that many
// deviations off, but for their scale: a server that is far off in one is likely to be in both, so
// that their sum has this distribution again (multivariate t; Kotz and Nadarajah, 2004).
func WithinGiven(deviations, other float64) float64 {
	known := float64(other * studentWidth)
	scale := math.Sqrt((freedom + float64(known*known)) / (freedom + 1))
	return below(deviations*studentWidth/scale, freedom+1)
}

// below is the distribution function of Student's t with four or five degrees of freedom,
// infinities included (Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions",
// volume 2, chapter 28, which has it in closed form for whole degrees).
func below(t, freedom float64) float64 {
	if math.IsInf(t, 0) {
		return (1 + math.Copysign(1, t)) / 2
	}
	u := 1 / (1 + float64(t*t)/freedom)
	if freedom == 4 {
		return 0.5 + float64(t*math.Sqrt(u)*(1+u/2))/4
	}
	root := math.Sqrt(freedom)
	return 0.5 + (math.Atan(t/root)+float64(t/root*u*(1+float64(2*u/3))))/math.Pi
}

// Quantile returns the factor that is not exceeded with the given probability, in (0, 1), with four
// digits, so that equal factors are written the same.
func (l Law) Quantile(probability float64) float64 { return l.At(Deviations(probability)) }

// At returns the factor that is that many deviations above the typical one.
func (l Law) At(deviations float64) float64 {
	return max(0.01, math.Round(1e4*math.Exp(l.Bias+float64(l.Spread*deviations)))/1e4)
}

// Below returns the probability that the factor is at most x.
func (l Law) Below(x float64) float64 { return Within(l.DeviationsOf(x)) }

// DeviationsOf returns by how many deviations a factor is above the typical one: ±Inf for every
// factor where there is no spread, and −Inf for 0.
func (l Law) DeviationsOf(x float64) float64 {
	off := math.Log(max(0, x)) - l.Bias
	switch {
	case l.Spread > 0:
		return off / l.Spread
	case off >= -1e-9:
		return math.Inf(1)
	}
	return math.Inf(-1)
}

// forecasts.csv says how often SLOs were kept whose chance was computed to be at least From, below
// the next one: of servers that were measured, of servers that were left out of the fit in ranges
// as if nothing of their kind had been measured, and of servers outside of the fit. A case is an
// SLO around one measured latency (llmsim validate DIR).
//
//go:embed forecasts.csv
var forecastsTable string

// ForecastOf is a line of forecasts.csv: where Evidence is Measured, of measured servers.
type ForecastOf struct {
	Evidence Grade `csv:"evidence"`
	// Quantile is the limit's quantile: 0.99 where it has an error of its own, and 0 for the mean
	// and all others.
	Quantile float64 `csv:"quantile"`
	From     float64 `csv:"from"`
	Cases    int     `csv:"cases"`
	Kept     int     `csv:"kept"`
}

// In forecasts.csv, LeftOutOfFit names servers that were left out of the fit, of which most share
// their model with servers that were not, and OutsideOfFit names servers that no fit has seen.
const (
	LeftOutOfFit Grade = "left out"
	OutsideOfFit Grade = "outside"
)

// forecasts reads the table, which is part of the program: it is right, or a test fails.
var forecasts = sync.OnceValue(func() []ForecastOf {
	return files.MustReadTable[ForecastOf]("forecasts.csv", forecastsTable)
})

// ForecastsFrom returns the least chances of the lines of a table of forecasts.
func ForecastsFrom() []float64 {
	return []float64{0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, sure}
}

// sure is the chance from which on a forecast is called sure, which is said of measured servers
// alone.
const sure = 0.98

// fewestForecasts is the least number of forecasts on which a share may rest.
const fewestForecasts = 30

// Supported returns the chance that is known where p is computed for a server of the grade, of an
// SLO on a high percentile or not: at most the share of such forecasts, or more confident ones,
// that came true, by Laplace's rule of succession. The record says how many of how many these are,
// and of which servers; it is empty where a deployment's own measurements decide, since a part of
// them was held out. A relative is such a server as the ones left out of the fit. For a server that
// is further off, two shares count: of the surest forecasts of servers outside of the fit, how many
// came true says how likely this server is like the servers left out of the fit; and no chance
// exceeds the share of its own forecasts that came true outside of the fit. How often high
// percentiles were kept is known of measured servers alone, so that a relative's chance is at most
// theirs. No server that was not measured is called sure.
func (g Grade) Supported(p float64, high bool) (known float64, record ForecastOf) {
	switch g {
	case Here:
		return p, ForecastOf{}
	case Measured:
		share, record := cameTrue(p, Measured, high)
		return min(p, share), record
	case Relative:
		share, record := cameTrue(p, LeftOutOfFit, false)
		if measured, _ := Measured.Supported(p, high); high {
			share = min(share, measured)
		}
		return min(p, share, sure), record
	}
	like, _ := cameTrue(p, LeftOutOfFit, false)
	most, _ := cameTrue(1, OutsideOfFit, false)
	share, record := cameTrue(p, OutsideOfFit, false)
	return min(most*min(p, like), share, sure), record
}

// cameTrue returns the share that came true of the forecasts of p, or more confident ones, of
// certain servers, and their record. No share is below that of less confident ones, and each is of
// enough forecasts, if there are as many.
func cameTrue(p float64, of Grade, high bool) (most float64, record ForecastOf) {
	list, all := forecasts(), ForecastOf{Evidence: of}
	for i := len(list) - 1; i >= 0; i-- {
		if f := &list[i]; f.Evidence == of && High(f.Quantile) == high {
			all.Kept, all.Cases = all.Kept+f.Kept, all.Cases+f.Cases
			share := float64(all.Kept+1) / float64(all.Cases+2)
			if f.From <= p && (record.Cases < fewestForecasts || share > most) {
				most, record = share, all
			}
		}
	}
	return most, record
}
