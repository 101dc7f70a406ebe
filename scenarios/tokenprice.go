package scenarios

import (
	"fmt"
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

// TokenPrices holds the prices that users pay for tokens, or that a provider asks for them.
type TokenPrices struct {
	Input  TokenPrice  `json:"input" required:"true" jsonschema:"The price of a million prompt tokens, such as $0.15/M."`
	Cached *TokenPrice `json:"cached-input,omitempty" jsonschema:"The price of a million prompt tokens that come from a prefix cache. Default: the price of other input."`
	Output TokenPrice  `json:"output" required:"true" jsonschema:"The price of a million output tokens."`
}

// complete returns the prices with their defaults filled in; nil for nil.
func (p *TokenPrices) complete() *TokenPrices {
	if p == nil || p.Cached != nil {
		return p
	}
	return &TokenPrices{Input: p.Input, Cached: &p.Input, Output: p.Output}
}
