package scenarios

// price sets what a million output tokens cost, and what the tokens of an hour are worth: at the
// rate and the mean answer that are asked for where the system keeps up with them, so that it does
// not depend on the requests that were drawn, else over the whole run.
func (r *Result) price(tokens *TokenPrices, rate, output float64) {
	if r.TotalOutputTokens == 0 || r.Duration == 0 {
		return
	}
	flow := r.OutputThroughput
	r.CostPerMillion = r.Cost / float64(r.TotalOutputTokens) * 1e6
	r.PricedOver = "over the whole run with its drain"
	if r.Diagnosis.Load == KeepsUp && r.Completed == r.Sent() && rate*output > 0 {
		flow = rate * output
		r.CostPerMillion, r.PricedOver = r.Cost/r.Duration/flow*1e6, "at the offered rate"
	}
	r.Sold = tokens.Sold(r.Counts(), flow*3600/1e6, r.Cost/r.Duration*3600)
}

// Counts returns the tokens of the requests that were completed.
func (r *Result) Counts() TokenCounts {
	return TokenCounts{Input: r.TotalInputTokens, Cached: r.CachedInput,
		Output: r.TotalOutputTokens}
}
