package bench

import "slices"

// Pairs compares two builds by the ratios of their times in pairs of runs.
type Pairs struct {
	// Ratio is the median of the ratios, less than 1 where the build is faster than the other one.
	Ratio float64 `json:"ratio"`
	// From and To bound the median of all such ratios with the given confidence, which is the
	// least that is at least 0.9, or the largest that so few pairs can give.
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Confidence float64 `json:"confidence"`
	Pairs      int     `json:"pairs"`
}

// compare compares times with another build's, pair by pair.
func compare(times, others []float64) *Pairs {
	list := ratios(times, others)
	slices.Sort(list)
	from, confidence := bounds(len(list))
	return &Pairs{Ratio: median(list), From: list[from], To: list[len(list)-1-from],
		Confidence: confidence, Pairs: len(list)}
}

// bounds returns which of n sorted values bounds their median from below, as the one as far from
// the end does from above, and with what confidence. The number of values below the median is
// binomial with n trials of chance 1/2, whatever their distribution.
func bounds(n int) (from int, confidence float64) {
	const wanted = 0.9
	chance := 1.0 // that exactly k values are below the median
	for range n {
		chance /= 2
	}
	confidence = 1 - 2*chance
	for k := 1; k < (n+1)/2; k++ {
		chance *= float64(n-k+1) / float64(k)
		if confidence-2*chance < wanted {
			break
		}
		from, confidence = k, confidence-2*chance
	}
	return from, max(0, confidence)
}

// ratios divides values pair by pair.
func ratios(above, below []float64) []float64 {
	list := make([]float64, len(above))
	for i := range list {
		list[i] = above[i] / below[i]
	}
	return list
}

// median returns the median of some values, at least one.
func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[n/2] + list[(n-1)/2]) / 2
}
