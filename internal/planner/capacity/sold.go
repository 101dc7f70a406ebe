package capacity

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
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
	Cached *TokenPrice `json:"cached-input,omitempty" jsonschema:"For a million tokens of prompts that come from a cache. Default: as other input."`
	Output TokenPrice  `json:"output" required:"true" jsonschema:"For a million tokens of answers."`
}

// Sold is the tokens of an hour at the prices of the plan.
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
}

// sold reckons what the tokens are worth that a fleet serves in an hour, output millions of them in
// answers; nil where the plan has no prices of tokens. The trial of the fleet says how many tokens
// of prompts belong to these, and how many of them are cached.
func (p *Plan) sold(t *trial, output float64) *Sold {
	if p.Tokens == nil || t.Flow == 0 {
		return nil
	}
	each := output / t.Flow
	s := &Sold{Cached: float64(each * t.Cached), Output: output}
	s.Input = float64(each*t.Input) - s.Cached
	cached := p.Tokens.Input
	if p.Tokens.Cached != nil {
		cached = *p.Tokens.Cached
	}
	s.InputDollars = float64(s.Input * float64(p.Tokens.Input))
	s.CachedDollars = float64(s.Cached * float64(cached))
	s.OutputDollars = float64(s.Output * float64(p.Tokens.Output))
	s.Hourly = s.InputDollars + s.CachedDollars + s.OutputDollars
	return s
}

// words says what the tokens of an hour are worth beside what the fleet costs.
func (s *Sold) words(fleet float64) string {
	prompts := s.Input + s.Cached
	share := 0.0
	if prompts > 0 {
		share = s.Cached / prompts
	}
	left := fmt.Sprintf("$%.2f more than", s.Hourly-fleet)
	if s.Hourly < fleet {
		left = fmt.Sprintf("$%.2f less than", fleet-s.Hourly)
	}
	return fmt.Sprintf("At these prices the tokens of an hour are worth $%.2f, %s the fleet "+
		"costs: $%.2f for input, $%.2f for cached input (%s of prompt tokens), $%.2f for output.",
		s.Hourly, left, s.InputDollars, s.CachedDollars, report.Percent(share), s.OutputDollars)
}
