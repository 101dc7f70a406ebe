package scenarios

// TokenPrices holds the prices that users pay for tokens, or that a provider asks for them.
type TokenPrices struct {
	Input  TokenPrice  `json:"input" required:"true" jsonschema:"Price of a million prompt tokens, such as $0.15/M."`
	Cached *TokenPrice `json:"cached-input,omitempty" jsonschema:"Price of a million prompt tokens that come from a prefix cache. Default: the price of other input."`
	Output TokenPrice  `json:"output" required:"true" jsonschema:"Price of a million output tokens."`
}

// complete returns the prices with their defaults filled in; nil for nil.
func (p *TokenPrices) complete() *TokenPrices {
	if p == nil || p.Cached != nil {
		return p
	}
	return &TokenPrices{Input: p.Input, Cached: &p.Input, Output: p.Output}
}
