package evidence

import (
	_ "embed"
	"math"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// Spread says how far predictions may be from measurements. The logarithm of the measured over the
// predicted time is assumed to be normally distributed around a bias, which is above 0 if measured
// times are longer. TPOT, TTFT and Rate are the standard deviations. A rate counts as the time for
// each token.
type Spread struct {
	TPOT     float64 `json:"tpot"`
	TTFT     float64 `json:"ttft"`
	Rate     float64 `json:"rate"`
	TPOTBias float64 `json:"tpot_bias"`
	TTFTBias float64 `json:"ttft_bias"`
	RateBias float64 `json:"rate_bias"`
	// DecodeBias is the part of TPOTBias that only servers with answers have: where prompts are
	// computed apart, steps of the servers that compute them do not have it.
	DecodeBias float64 `json:"decode_bias,omitempty"`
}

// PromptSteps returns the factor on the steps of servers that only compute prompts, given the
// factor on the steps of other servers. The factor 1 is the prediction of both.
func (s *Spread) PromptSteps(steps float64) float64 {
	if steps == 1 {
		return 1
	}
	return steps * math.Exp(-s.DecodeBias)
}

// Of returns where the error of a quantile of a metric lies, such as 0.99 of TTFT; the quantile 0
// is the mean. From the mean to p90, the error is the mean's; what quantiles beyond are off by
// beside the mean (percentiles.csv) is added as an independent error with a bias.
func (s *Spread) Of(metric string, quantile float64) ErrorRange {
	mean := ErrorRange{s.TPOTBias, s.TPOT * Width80}
	switch metric {
	case TTFT:
		mean = ErrorRange{s.TTFTBias, s.TTFT * Width80}
	case Rate:
		mean = ErrorRange{s.RateBias, s.Rate * Width80}
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
// differ from the logarithms of means of the same rows.
//
//go:embed percentiles.csv
var percentilesTable string

// Percentile is a row of the table.
type Percentile struct {
	Quantity string `csv:"quantity"`
	Rows     int    `csv:"rows"`
	ErrorRange
}

var besideMeans = sync.OnceValue(func() map[string]ErrorRange {
	list := map[string]ErrorRange{}
	for _, row := range files.MustReadTable[Percentile]("percentiles.csv", percentilesTable) {
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
	Bias   float64 `json:"bias" csv:"bias" format:"%.3f"`
	Within float64 `json:"within" csv:"within" format:"%.3f"`
}

// Holds reports whether the logarithm of a measured over the predicted time lies in a range that
// is to hold 80 of 100, or where width is another number of standard deviations, its share.
func (o ErrorRange) Holds(deviation, width float64) bool {
	return math.Abs(deviation-o.Bias) <= o.Within*width/Width80
}

// Range returns the factors on a predicted TPOT between which 80 of 100 measured values lie.
func (s *Spread) Range() (low, high float64) { return between(s.TPOTBias, s.TPOT) }

// RangeTTFT is Range for TTFT.
func (s *Spread) RangeTTFT() (low, high float64) { return between(s.TTFTBias, s.TTFT) }

func between(bias, deviation float64) (low, high float64) {
	width := float64(deviation * Width80) // not fused, so that all machines print the same
	return math.Exp(bias - width), math.Exp(bias + width)
}
