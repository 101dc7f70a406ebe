package metrics

import "github.com/llmsim/llmsim/sim"

// Histogram counts spans in bins of equal width from Low to High, in seconds. Spans longer than
// High are left out.
type Histogram struct {
	Low, High float64
	Counts    []float64
}

// Histogram returns the counts from the shortest span to the 99th percentile, in at most the given
// number of bins. It has fewer bins if they would be finer than the accuracy of the distribution.
// Without spans it is empty.
func (d *Distribution) Histogram(bins int) Histogram {
	if d.n == 0 {
		return Histogram{}
	}
	const second = float64(sim.Second)
	low, high := d.Quantile(0), d.Quantile(0.99)
	bins = max(1, min(bins, int((high-low)/(4*d.buckets.accuracy*high))))
	h := Histogram{Low: low / second, High: high / second, Counts: make([]float64, bins)}
	count := func(span, n float64) {
		if span > high {
			return
		}
		bin := 0
		if high > low {
			bin = min(bins-1, int(float64(bins)*(span-low)/(high-low)))
		}
		h.Counts[bin] += n
	}
	for span, n := range d.each {
		count(span, n)
	}
	return h
}

// histogramBins is fine enough for a chart in a line of text.
const histogramBins = 36

// Histograms returns the histograms of TTFT and TPOT over all requests.
func (c *Collector) Histograms() (ttft, tpot Histogram) {
	return c.all.ttft.Histogram(histogramBins), c.all.tpot.Histogram(histogramBins)
}
