package diagnosis

import (
	"fmt"

	"github.com/llmsim/llmsim/scenarios"
)

// Sold says what the tokens of an hour are worth, beside what the fleet costs where that is known.
func Sold(s *scenarios.Sold) string {
	cached := 0.0
	if prompts := s.Input + s.Cached; prompts > 0 {
		cached = s.Cached / prompts
	}
	words := fmt.Sprintf("$%.2f", s.Hourly)
	switch m := s.Margin; {
	case m == nil:
	case *m < 0:
		words += fmt.Sprintf(", $%.2f less than the fleet costs", -*m)
	default:
		words += fmt.Sprintf(", $%.2f more than the fleet costs", *m)
	}
	words += fmt.Sprintf(": $%.2f for input, ", s.InputDollars)
	if s.Cached > 0 {
		words += fmt.Sprintf("$%.2f for cached input (%.0f%% of prompt tokens), ", s.CachedDollars,
			100*cached)
	}
	return words + fmt.Sprintf("$%.2f for output", s.OutputDollars)
}
