package formats

import (
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"gonum.org/v1/gonum/stat/distuv"
)

// lengths are the counts of a histogram of lengths, by the upper end of each bucket, cumulative.
type lengths map[float64]float64

// add adds the buckets of a histogram.
func (l lengths) add(h *dto.Histogram) {
	for _, b := range h.Bucket {
		if end := b.GetUpperBound(); end > 0 && !math.IsInf(end, 0) && !math.IsNaN(end) {
			l[end] += float64(b.GetCumulativeCount())
		}
	}
}

// spread returns the standard deviation divided by the mean of the lognormal distribution with the
// given mean that is nearest to what the buckets grew by: with the least squares of the differences
// between the shares below their ends. It is 0 where they do not say.
func spread(before, after lengths, mean, count float64) float64 {
	if !(mean > 0) || !(count >= leastLengths) {
		return 0
	}
	ends := slices.Sorted(maps.Keys(after))
	best, least := 0.0, math.Inf(1)
	for sigma := 0.02; sigma < 2.5; sigma *= 1.02 {
		d := distuv.LogNormal{Mu: math.Log(mean) - sigma*sigma/2, Sigma: sigma}
		squares, known := 0.0, false
		for _, end := range ends {
			share := (after[end] - before[end]) / count
			if !(share >= 0 && share <= 1) {
				return 0
			}
			known = known || share > 0 && share < 1
			squares += (share - d.CDF(end)) * (share - d.CDF(end))
		}
		if known && squares < least {
			best, least = math.Sqrt(math.Expm1(sigma*sigma)), squares
		}
	}
	return best
}

// leastLengths is the number of requests from which on the spread of lengths is looked for.
const leastLengths = 30
