package scenarios

// TokenCosts says what tokens cost the fleet: its price, divided among the tokens of completed
// requests by the time and the KV memory that they took. Prices are of a million, in the
// currency of the result. The prices times the numbers of tokens add up to the price of the fleet.
//
// A part of the price goes by time, the others by memory, in the proportion of the share of the
// time in which steps ran to the mean share of the KV memory in use. By time, prompt tokens that
// are computed pay for steps with prompts, less what their decoding would take alone; output tokens
// pay for decoding; and cached prompt tokens pay for the time in which KV came from lower tiers. By
// memory, prompt tokens pay for the time from the request's first step to its last token, and
// output tokens for half the time from the first token to the last. Tokens that requests share pay
// once for each of them.
type TokenCosts struct {
	Input  float64 `json:"input_dollars_per_million,omitzero" jsonschema:"price of prompt tokens that are computed; of completed requests"`
	Cached float64 `json:"cached_input_dollars_per_million,omitzero" jsonschema:"price of prompt tokens from a prefix cache; of completed requests"`
	Output float64 `json:"output_dollars_per_million,omitzero" jsonschema:"price of output tokens; of completed requests"`
	// TimeShare is the part of the price that goes by time.
	TimeShare float64 `json:"time_share" jsonschema:"part of the price that goes by time; of the run"`
}

// pay holds what the kinds of tokens pay: parts of any unit.
type pay struct{ input, cached, output float64 }

func (p pay) sum() float64 { return p.input + p.cached + p.output }

// tokenCosts divides the price of the fleet; nil if it is not known, or nothing is to pay for it.
func (f *finished) tokenCosts(cost float64, pools []PoolResult) *TokenCosts {
	s := &f.summary
	if cost == 0 || s.Completed == 0 || s.Busy+s.KVUsage == 0 {
		return nil
	}
	counts := CountTokens(s)
	time, held := f.tokenTimes(pools), pay{s.KVHeld.Input, s.KVHeld.Cached, s.KVHeld.Output}
	if counts.Cached == 0 {
		time.input += time.cached
		time.cached = 0
	}
	c := &TokenCosts{TimeShare: s.Busy / (s.Busy + s.KVUsage)}
	if held.sum() == 0 {
		c.TimeShare = 1
	}
	price := func(byTime, byMemory float64, tokens int64) float64 {
		if tokens == 0 {
			return 0
		}
		part := float64(c.TimeShare * byTime / time.sum())
		if byMemory > 0 {
			part += float64((1 - c.TimeShare) * byMemory / held.sum())
		}
		return cost * part / float64(tokens) * 1e6
	}
	c.Input = price(time.input, held.input, counts.Input-counts.Cached)
	c.Cached = price(time.cached, held.cached, counts.Cached)
	c.Output = price(time.output, held.output, counts.Output)
	return c
}

// tokenTimes returns the time of steps and of links that each kind of token takes, weighted by the
// prices of replicas.
func (f *finished) tokenTimes(pools []PoolResult) (sum pay) {
	for i := range f.pools {
		p, m := &f.pools[i], &f.work.meters[i]
		weight := pools[i].Cost / float64(p.size)
		fetching := 0.0
		for k := range p.size {
			fetching += f.outcome.Replicas[p.first+k].Fetching.Seconds()
		}
		sum.input += float64(weight * m.prompts.Seconds())
		sum.cached += float64(weight * fetching)
		sum.output += float64(weight * m.decoding.Seconds())
	}
	return sum
}
