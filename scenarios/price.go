package scenarios

import "github.com/llmsim/llmsim/metrics"

// The denominators of prices, in words.
const (
	// OfferedRate is of runs that keep up with their load.
	OfferedRate = "at the offered rate"
	wholeRun    = "over the whole run with its drain"
)

// Prices holds the figures of money that have a denominator: the price of a million output tokens
// and of a session, and the worth of the tokens of an hour. Over names the denominator.
type Prices struct {
	PerMillion, PerSession float64
	Sold                   *Sold
	Over                   string
}

// price computes the prices of a run at a flow of output tokens a second; cost is the price of the
// fleet for the run.
func price(s *metrics.Summary, tokens *TokenPrices, cost, flow float64, over string) Prices {
	if s.TotalOutputTokens == 0 || s.Duration == 0 {
		return Prices{}
	}
	second := cost / s.Duration
	p := Prices{PerMillion: second / flow * 1e6, Over: over,
		Sold: tokens.Sold(CountTokens(s), flow*3600/1e6, second*3600)}
	if s.Sessions != nil {
		p.PerSession = p.PerMillion * s.Sessions.Output / 1e6
	}
	return p
}

// prices computes the prices of a run over the whole of it, and those to show: at the offered rate
// and the mean length of answers if the system keeps up, so that they do not depend on the random
// requests.
func prices(s *metrics.Summary, tokens *TokenPrices, cost float64, load LoadState,
	offered float64) (whole, shown Prices) {
	whole = price(s, tokens, cost, float64(s.TotalOutputTokens)/s.Duration, wholeRun)
	if load == KeepsUp && s.Completed == s.Sent() && offered > 0 {
		return whole, price(s, tokens, cost, offered, OfferedRate)
	}
	return whole, whole
}
