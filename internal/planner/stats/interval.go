package stats

import (
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval, Mean ± Half. Half is +Inf for a single observation, which says
// nothing about the spread.
type Interval struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half_width"`
}

// IsZero reports whether there was nothing to observe, so that Mean is NaN. The tag omitzero then
// leaves the interval out.
func (i Interval) IsZero() bool { return math.IsNaN(i.Mean) }

// MarshalJSON writes an unknown half width as null.
func (i Interval) MarshalJSON() ([]byte, error) {
	var half *float64
	if !math.IsInf(i.Half, 1) {
		half = &i.Half
	}
	return json.Marshal(struct {
		Mean float64  `json:"mean"`
		Half *float64 `json:"half_width"`
	}{i.Mean, half})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Interval) UnmarshalJSON(data []byte) error {
	var read struct {
		Mean float64  `json:"mean"`
		Half *float64 `json:"half_width"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*i = Interval{Mean: read.Mean, Half: math.Inf(1)}
	if read.Half != nil {
		i.Half = *read.Half
	}
	return nil
}

// Excludes reports whether x lies outside of the interval.
func (i Interval) Excludes(x float64) bool { return math.Abs(i.Mean-x) > i.Half }

// Rounding is the size, as a share of the terms, below which a sum or a difference is a rounding
// error.
const Rounding = 1e-9

// Mean returns the mean of at least one independent observation, with its interval at a confidence
// in (0, 1), by Student's t. The mean is 0 if the observations cancel but for a rounding error.
func Mean(observations []float64, confidence float64) Interval {
	if len(observations) == 1 {
		return Interval{Mean: observations[0], Half: math.Inf(1)}
	}
	n := float64(len(observations))
	mean, deviation := MeanDeviation(observations)
	if deviation == 0 { // and so is the width, whatever t is
		return Interval{Mean: mean}
	}
	largest := 0.0
	for _, x := range observations {
		largest = max(largest, math.Abs(x))
	}
	if math.Abs(mean) < Rounding*largest {
		mean = 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
	return Interval{Mean: mean, Half: t * deviation / math.Sqrt(n)}
}

// BatchMean is Mean for a series of observations that are not independent. It divides them into the
// given number of batches, whose means count as independent (Law, "Simulation Modeling and
// Analysis", 5th edition, 9.5.3). Each batch needs at least one observation.
func BatchMean(series []float64, count int, confidence float64) Interval {
	return Mean(batches(series, len(series)/count)[:count], confidence)
}

// MeanDeviation returns the mean and the sample standard deviation of observations; NaN where too
// few are given. It sums in order, so that all machines return the same bits, which gonum's vector
// instructions do not.
func MeanDeviation(observations []float64) (mean, deviation float64) {
	n := float64(len(observations))
	for _, x := range observations {
		mean += x
	}
	mean /= n
	for _, x := range observations {
		deviation += float64((x - mean) * (x - mean))
	}
	return mean, math.Sqrt(deviation / (n - 1))
}
