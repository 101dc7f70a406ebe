package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval, Mean ± Half.
type Interval struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half_width"`
}

// Excludes tells whether x is outside.
func (i Interval) Excludes(x float64) bool { return math.Abs(i.Mean-x) > i.Half }

// Mean returns the mean of independent observations with its interval at a confidence in (0, 1), by Student's t. At least two
// are needed.
func Mean(observations []float64, confidence float64) Interval {
	n := float64(len(observations))
	mean, deviation := stat.MeanStdDev(observations, nil)
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
	return Interval{Mean: mean, Half: t * deviation / math.Sqrt(n)}
}

// BatchMean is Mean for observations that follow each other and are not independent: the means of so many batches are taken for
// independent (Law, "Simulation Modeling and Analysis", 5th edition, 9.5.3). Each batch needs at least one.
func BatchMean(series []float64, count int, confidence float64) Interval {
	return Mean(batches(series, len(series)/count)[:count], confidence)
}
