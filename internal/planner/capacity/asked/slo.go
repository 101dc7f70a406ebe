package asked

import "github.com/llmsim/llmsim/metrics"

// least returns the share of requests that must keep all limits of a request for an SLO to be kept:
// where each latency has percentiles of its own, at most the sum of what each lets miss may miss
// any.
func least(s metrics.SLO) float64 {
	if s.Share > 0 {
		return s.Share
	}
	missing := map[metrics.Latency]float64{}
	for _, l := range s.Percentiles {
		missing[l.Latency] = 1 - l.Percentile/100 // the highest comes last
	}
	return 1 - missing[metrics.TTFT] - missing[metrics.TPOT] - missing[metrics.E2E]
}
