package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// TokenPrice is in US dollars for a million tokens, written as "$0.15/M".
type TokenPrice float64

// UnmarshalText reads a price with its unit.
func (p *TokenPrice) UnmarshalText(text []byte) error {
	number, unit := strings.CutSuffix(strings.TrimSpace(string(text)), "/M")
	number, currency := strings.CutPrefix(number, "$")
	dollars, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !unit || !currency || err != nil || !(dollars >= 0 && dollars < 1e9) {
		return fmt.Errorf("found %q; want US dollars for a million tokens, such as $0.15/M", text)
	}
	*p = TokenPrice(dollars)
	return nil
}

// MarshalText writes the price exactly.
func (p TokenPrice) MarshalText() ([]byte, error) {
	return []byte("$" + strconv.FormatFloat(float64(p), 'f', -1, 64) + "/M"), nil
}

// TokenPrices are what users pay for tokens, or what a provider asks for them.
type TokenPrices struct {
	Input  TokenPrice  `json:"input" required:"true" jsonschema:"For a million tokens of prompts, such as $0.15/M."`
	Cached *TokenPrice `json:"cached-input,omitempty" jsonschema:"For a million tokens of prompts that come from a prefix cache. Default: as other input."`
	Output TokenPrice  `json:"output" required:"true" jsonschema:"For a million tokens of answers."`
}

// complete returns the prices with their defaults filled in; nil for nil.
func (p *TokenPrices) complete() *TokenPrices {
	if p == nil || p.Cached != nil {
		return p
	}
	return &TokenPrices{Input: p.Input, Cached: &p.Input, Output: p.Output}
}

// TokenCounts are tokens of the requests that were completed. No user pays for others.
type TokenCounts struct {
	// Input counts all tokens of prompts, and Cached those of them that came from a prefix cache.
	Input  int64 `json:"input"`
	Cached int64 `json:"cached_input"`
	Output int64 `json:"output"`
}

// Counts returns the tokens of the requests that were completed.
func (r *Result) Counts() TokenCounts {
	return TokenCounts{Input: r.TotalInputTokens, Cached: r.CachedInput,
		Output: r.TotalOutputTokens}
}

// Sold is what the tokens of an hour are worth.
type Sold struct {
	// Input, Cached and Output are millions of tokens an hour; Input leaves out the cached ones.
	Input  float64 `json:"input_millions_per_hour"`
	Cached float64 `json:"cached_input_millions_per_hour"`
	Output float64 `json:"output_millions_per_hour"`
	// InputDollars, CachedDollars and OutputDollars are what these cost at the prices of tokens, an
	// hour, and Hourly is their sum.
	InputDollars  float64 `json:"input_dollars_per_hour"`
	CachedDollars float64 `json:"cached_input_dollars_per_hour"`
	OutputDollars float64 `json:"output_dollars_per_hour"`
	Hourly        float64 `json:"dollars_per_hour"`
	// Margin is Hourly less the price of the fleet; nil where that is not known.
	Margin *float64 `json:"margin_dollars_per_hour,omitempty"`
}

// Sold reckons what tokens are worth that a fleet serves in an hour at a price in US dollars,
// output millions of them in answers; nil without prices of tokens, or without answers. The counts
// say how many tokens of prompts belong to these, and how many of them are cached. A price of 0 is
// one that is not known.
func (p *TokenPrices) Sold(c TokenCounts, output, fleet float64) *Sold {
	if p == nil || c.Output == 0 {
		return nil
	}
	each := output / float64(c.Output)
	s := &Sold{Input: float64(each * float64(c.Input-c.Cached)),
		Cached: float64(each * float64(c.Cached)), Output: output}
	s.InputDollars = float64(s.Input * float64(p.Input))
	s.CachedDollars = float64(s.Cached * float64(*p.complete().Cached))
	s.OutputDollars = float64(s.Output * float64(p.Output))
	s.Hourly = s.InputDollars + s.CachedDollars + s.OutputDollars
	if fleet > 0 {
		margin := s.Hourly - fleet
		s.Margin = &margin
	}
	return s
}

// soldMetrics lists the figures of tokens that are sold. A result without prices of tokens has
// none.
func soldMetrics() []Metric {
	return []Metric{
		{Name: "tokens_sold", Path: "tokens_sold.dollars_per_hour", Short: "sold $/h",
			Title: "worth of the tokens of an hour", Unit: Dollars, Better: Higher, Swept: true,
			Absent: math.NaN()},
		{Name: "margin", Path: "tokens_sold.margin_dollars_per_hour", Short: "margin $/h",
			Title: "worth of the tokens of an hour, less the price of the fleet", Unit: Dollars,
			Better: Higher, Swept: true, Signed: true, Absent: math.NaN()},
	}
}
