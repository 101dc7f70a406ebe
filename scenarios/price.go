package scenarios

import "github.com/llmsim/llmsim/metrics"

// perMillion returns what a million output tokens cost, and how that is reckoned: at the rate and
// the mean answer that are asked for where the system keeps up with them, so that it does not
// depend on the requests that were drawn, else over the whole run.
func perMillion(cost float64, s *metrics.Summary, load LoadState, rate,
	output float64) (dollars float64, over string) {
	switch {
	case s.TotalOutputTokens == 0 || s.Duration == 0:
		return 0, ""
	case load == KeepsUp && s.Completed == s.Sent() && rate*output > 0:
		return cost / s.Duration / (rate * output) * 1e6, "at the offered rate"
	}
	return cost / float64(s.TotalOutputTokens) * 1e6, "over the whole run with its drain"
}
