package scenarios

import "github.com/llmsim/llmsim/metrics"

// pricing is the price of a million output tokens, the period that it is for in words (over), and
// the output tokens a second in that period (flow).
type pricing struct {
	perMillion, flow float64
	over             string
}

// price computes the prices of a run from its cost. If the system keeps up, it uses the offered
// rate and the mean length of answers, so that prices do not depend on the random requests.
// Otherwise it uses the whole run.
func price(cost float64, s *metrics.Summary, load LoadState, rate, output float64) pricing {
	switch {
	case s.TotalOutputTokens == 0 || s.Duration == 0:
		return pricing{}
	case load == KeepsUp && s.Completed == s.Sent() && rate*output > 0:
		flow := rate * output
		return pricing{cost / s.Duration / flow * 1e6, flow, "at the offered rate"}
	}
	return pricing{cost / float64(s.TotalOutputTokens) * 1e6, s.OutputThroughput,
		"over the whole run with its drain"}
}
