package units

import (
	"fmt"
	"math/big"
	"strings"
)

// share is only printed: a plain number may be read too, so it has a parser of its own.
var share = kind{display: []unit{{"%", 1, 100}}}

// ParseFraction reads a share of a whole as a percentage ("90%") or a number from 0 to 1 ("0.9"),
// and returns the number.
func ParseFraction(s string) (float64, error) {
	const want = `want a share such as "90%" or "0.9"`
	text := strings.TrimSpace(s)
	number, percent := strings.CutSuffix(text, "%")
	if percent {
		number = strings.TrimSuffix(number, " ")
	}
	exact, ok := decimal(number)
	if !ok {
		return 0, fmt.Errorf("%q is not a share; %s", s, want)
	}
	if percent {
		exact.Quo(exact, big.NewRat(100, 1))
	}
	if exact.Cmp(big.NewRat(1, 1)) > 0 {
		return 0, fmt.Errorf("%q is more than the whole (write percentages with %%); %s", s, want)
	}
	value, _ := exact.Float64()
	return value, nil
}

// FormatFraction prints a share of a whole as a percentage, "90%".
func FormatFraction(v float64) string {
	number, symbol := share.pick(v)
	return number + symbol
}
