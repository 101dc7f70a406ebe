package scenarios

import "github.com/llmsim/llmsim/metrics"

// TokenCounts holds the numbers of tokens of completed requests. No user pays for other requests.
type TokenCounts struct {
	// Input counts all tokens of prompts, and Cached those of them that came from a prefix cache.
	Input  int64 `json:"input"`
	Cached int64 `json:"cached_input"`
	Output int64 `json:"output"`
}

// CountTokens counts the tokens of the requests that were completed.
func CountTokens(s *metrics.Summary) TokenCounts {
	return TokenCounts{Input: s.TotalInputTokens, Cached: s.CachedTokens,
		Output: s.TotalOutputTokens}
}

// Sold is the worth of the tokens of an hour.
type Sold struct {
	// Input, Cached and Output are millions of tokens an hour; Input leaves out the cached ones.
	Input  float64 `json:"input_millions_per_hour" jsonschema:"prompt tokens that are computed; of completed requests"`
	Cached float64 `json:"cached_input_millions_per_hour" jsonschema:"prompt tokens from a prefix cache; of completed requests"`
	Output float64 `json:"output_millions_per_hour" jsonschema:"output tokens; of completed requests"`
	// InputDollars, CachedDollars and OutputDollars are the worth of these tokens an hour, and
	// Hourly is their sum, in the currency of the result.
	InputDollars  float64 `json:"input_dollars_per_hour" jsonschema:"worth of prompt tokens that are computed; of completed requests"`
	CachedDollars float64 `json:"cached_input_dollars_per_hour" jsonschema:"worth of prompt tokens from a prefix cache; of completed requests"`
	OutputDollars float64 `json:"output_dollars_per_hour" jsonschema:"worth of output tokens; of completed requests"`
	Hourly        float64 `json:"dollars_per_hour"`
	// Margin is Hourly less the price of the fleet; nil if that price is not known.
	Margin *float64 `json:"margin_dollars_per_hour,omitempty"`
}

// Sold computes the worth of the tokens that a fleet serves in an hour, with output millions of
// tokens in answers. The counts give the ratio of prompt tokens and cached tokens to output tokens.
// fleet is the price of the fleet an hour; 0 means that it is not known. Sold
// returns nil without prices of tokens, or without answers.
func (p *TokenPrices) Sold(c TokenCounts, output, fleet float64) *Sold {
	if p == nil || c.Output == 0 {
		return nil
	}
	each := output / float64(c.Output)
	s := &Sold{Input: float64(each * float64(c.Input-c.Cached)),
		Cached: float64(each * float64(c.Cached)), Output: output}
	s.InputDollars = float64(s.Input * p.Input.Amount)
	s.CachedDollars = float64(s.Cached * p.complete().Cached.Amount)
	s.OutputDollars = float64(s.Output * p.Output.Amount)
	s.Hourly = s.InputDollars + s.CachedDollars + s.OutputDollars
	if fleet > 0 {
		margin := s.Hourly - fleet
		s.Margin = &margin
	}
	return s
}
