package scenarios

import "github.com/llmsim/llmsim/metrics"

// pricing is how prices are reckoned: for a million output tokens in US dollars, over in words, and
// flow, the output tokens a second of that time.
type pricing struct {
	perMillion, flow float64
	over             string
}

// price reckons prices of a run from its cost: at the rate and the mean answer that are asked for
// where the system keeps up with them, so that they do not depend on the requests that were drawn,
// else over the whole run.
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
