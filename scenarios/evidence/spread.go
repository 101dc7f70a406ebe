package evidence

import (
	_ "embed"
	"math"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Spread says how far predictions may be from measurements. The logarithm of the measured over the
// predicted time is assumed to be normally distributed around a bias, which is above 0 if measured
// times are longer. TPOT and TTFT are the standard deviations.
type Spread struct {
	TPOT     float64 `json:"tpot"`
	TTFT     float64 `json:"ttft"`
	TPOTBias float64 `json:"tpot_bias"`
	TTFTBias float64 `json:"ttft_bias"`
}

// Metrics whose errors a Spread says. The error of E2E is that of TPOT, which decides it: measured
// E2E times and TPOTs are off by the same factor to 0.2 %.
const (
	TPOT = "TPOT"
	TTFT = "TTFT"
	E2E  = "E2E"
)

// Of returns where the error of a quantile of a metric lies, such as 0.99 of TTFT; the quantile 0
// is the mean. From the mean to p90, the error is the mean's; what quantiles beyond are off by
// beside the mean (percentiles.csv) is added as an independent error with a bias.
func (s *Spread) Of(metric string, quantile float64) ErrorRange {
	mean := ErrorRange{s.TPOTBias, s.TPOT * Width80}
	if metric == TTFT {
		mean = ErrorRange{s.TTFTBias, s.TTFT * Width80}
	}
	beside := besideMeans()[metric]
	if !High(quantile) {
		beside = ErrorRange{}
	}
	return ErrorRange{mean.Bias + beside.Bias,
		math.Sqrt(float64(mean.Within*mean.Within) + float64(beside.Within*beside.Within))}
}

// evenQuantile is the largest quantile that is off by as much as the mean. Of 38 rows, means are
// within 5 % in four of five, and 90th percentiles within 4.5 %.
const evenQuantile = 0.95

// High reports whether a quantile has an error of its own beside the mean's.
func High(quantile float64) bool { return quantile > evenQuantile }

// percentiles.csv says by how much the logarithms of measured over predicted 99th percentiles
// differ from those of means of the same rows.
//
//go:embed percentiles.csv
var percentilesTable string

// PercentilesHeader is the first line of the table of percentiles.
const PercentilesHeader = "quantity,rows,bias,within"

var besideMeans = sync.OnceValue(func() map[string]ErrorRange {
	list := map[string]ErrorRange{}
	for _, row := range files.MustReadTable[struct {
		Quantity   string `csv:"quantity"`
		Rows       int    `csv:"rows"`
		ErrorRange `csv:""`
	}]("percentiles.csv", percentilesTable) {
		list[row.Quantity] = row.ErrorRange
	}
	return list
})

// Width80 is the number of standard deviations within which 80 of 100 values of a normal
// distribution lie, to each side.
const Width80 = 1.2816

// ErrorRange is where ln(measured/predicted) of one quantity lies: four in five values are in
// [Bias − Within, Bias + Within]. Bias is above 0 where measured times are longer, and Within is at
// least 0. The zero ErrorRange says that predictions are exact.
type ErrorRange struct {
	Bias   float64 `json:"bias" csv:"bias"`
	Within float64 `json:"within" csv:"within"`
}

// Holds reports whether the logarithm of a measured over the predicted time lies in a range that
// is to hold 80 of 100, or where width is another number of standard deviations, its share.
func (o ErrorRange) Holds(deviation, width float64) bool {
	return math.Abs(deviation-o.Bias) <= o.Within*width/Width80
}

// Below returns o for predictions of a lower grade than those from which o comes, by adding an
// independent error. Its squares are not fused, and math.Hypot is not used, since the last digit of
// both differs between machines.
func (o ErrorRange) Below(g Grade) ErrorRange {
	more := beyond(g)
	return ErrorRange{o.Bias, math.Sqrt(float64(o.Within*o.Within) + float64(more*more))}
}

// beyond returns by how much, in logarithms, 80 of 100 predictions are off because less was
// measured than of the servers around. With 0.15, ranges hold 81 % of the rates of 44 servers with
// only kernels measured, and with 0.30 they hold 91 % of TPOTs and 78 % of TTFTs of eight servers
// with nothing measured (errors of rows left out, validate DIR --fit, 2026).
func beyond(g Grade) float64 { return map[Grade]float64{Kernels: 0.15, Formula: 0.30}[g] }

//go:embed spread.csv
var spreads string

// SpreadHeader is the first line of the table of factors.
const SpreadHeader = "quantity,servers,factor"

// factors reads by how much the ranges around a server are widened so that they hold four in five
// of servers that were left out. The table is part of the program: it is right, or a test fails.
var factors = sync.OnceValue(func() map[string]float64 {
	list := map[string]float64{}
	for _, row := range files.MustReadTable[struct {
		Quantity string  `csv:"quantity"`
		Servers  int     `csv:"servers"`
		Factor   float64 `csv:"factor"`
	}]("spread.csv", spreads) {
		list[row.Quantity] = row.Factor
	}
	return list
})

// Widened returns o as wide as ranges of servers that were not measured have to be.
func (o ErrorRange) Widened(quantity string) ErrorRange {
	return ErrorRange{o.Bias, float64(o.Within * factors()[quantity])}
}

// Unmeasured returns how far predictions of a quantity may be off for a server whose engine,
// accelerator and model were never measured together, by the servers around it that were left out
// of the fit themselves.
func Unmeasured(key deployment.Key, quantity string) ErrorRange {
	return FromNeighbours(key, neighbours()[quantity]).Widened(quantity)
}

// sameServer reports whether servers were left out of the fit together.
func sameServer(a, b deployment.Key) bool {
	return a.Engine == b.Engine && a.Accelerator == b.Accelerator && a.Model == b.Model
}

// errorRange returns how far predictions of a quantity may be off for a server of a grade.
func errorRange(g Grade, key deployment.Key, errors []Error, quantity string) ErrorRange {
	for i := range errors {
		if e := &errors[i]; g == Measured && e.Quantity == quantity {
			return e.Range
		}
	}
	if g == Measured {
		g = Relative // the other latency was measured
	}
	return Unmeasured(key, quantity).Below(g)
}

// spread returns the spread for a server of a grade, given the errors that were measured of it.
func spread(g Grade, key deployment.Key, errors []Error) Spread {
	tpot, ttft := errorRange(g, key, errors, "TPOT"), errorRange(g, key, errors, "TTFT")
	return Spread{TPOT: tpot.Within / Width80, TPOTBias: tpot.Bias,
		TTFT: ttft.Within / Width80, TTFTBias: ttft.Bias}
}

// Range returns the factors on a predicted TPOT between which 80 of 100 measured values lie.
func (s *Spread) Range() (low, high float64) { return between(s.TPOTBias, s.TPOT) }

// RangeTTFT is Range for TTFT.
func (s *Spread) RangeTTFT() (low, high float64) { return between(s.TTFTBias, s.TTFT) }

func between(bias, deviation float64) (low, high float64) {
	width := float64(deviation * Width80) // not fused, so that all machines print the same
	return math.Exp(bias - width), math.Exp(bias + width)
}
