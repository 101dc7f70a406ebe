package diagnosis

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Sold says what the tokens of an hour are worth, beside what the fleet costs where that is known.
func Sold(s *scenarios.Sold, c units.Currency) string {
	money := func(x float64) string { return c.Format(fmt.Sprintf("%.2f", x)) }
	cached := 0.0
	if prompts := s.Input + s.Cached; prompts > 0 {
		cached = s.Cached / prompts
	}
	words := money(s.Hourly)
	switch m := s.Margin; {
	case m == nil:
	case *m < 0:
		words += ", " + money(-*m) + " less than the fleet costs"
	default:
		words += ", " + money(*m) + " more than the fleet costs"
	}
	words += ": " + money(s.InputDollars) + " for input, "
	if s.Cached > 0 {
		words += fmt.Sprintf("%s for cached input (%.0f%% of prompt tokens), ",
			money(s.CachedDollars), 100*cached)
	}
	return words + money(s.OutputDollars) + " for output"
}
