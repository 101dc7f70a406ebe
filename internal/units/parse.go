package units

import (
	"fmt"
	"math/big"
	"strings"
)

// maxNumber bounds the digits of a number, far above any figure that means something.
const maxNumber = 40

// parse reads "NUMBER UNIT", with at most one space between, as a quantity of kind k in its base
// unit.
func (k kind) parse(s string) (float64, error) {
	text := strings.TrimSpace(s)
	number, symbol := split(text)
	if number == "" {
		return 0, fmt.Errorf("%q does not start with a number; %s", s, k.wants())
	}
	value, ok := decimal(number)
	if !ok {
		return 0, fmt.Errorf("%q: %q is not a plain number of at least 0 and at most %d "+
			"characters; %s", s, number, maxNumber, k.wants())
	}
	if symbol == "" {
		return 0, fmt.Errorf("%q has no unit; %s", s, k.wants())
	}
	u, ok := k.find(symbol)
	if !ok {
		return 0, fmt.Errorf("%q: %s; %s", s, k.explain(symbol), k.wants())
	}
	result, _ := value.Mul(value, u.scale()).Float64()
	return result, nil
}

// split cuts text after its leading number, and drops one space before the unit. The number keeps
// any sign, for the error message to show.
func split(text string) (number, symbol string) {
	end := strings.IndexFunc(text,
		func(r rune) bool { return !strings.ContainsRune("+-.0123456789", r) })
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimPrefix(text[end:], " ")
}

// decimal reads digits with at most one point between or before them: no sign, no exponent.
func decimal(s string) (*big.Rat, bool) {
	if len(s) > maxNumber || strings.ContainsAny(s, "+-") || strings.HasSuffix(s, ".") {
		return nil, false
	}
	whole, fraction, _ := strings.Cut(s, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetFrac(n, ten(len(fraction))), true
}

// ten is 10 to the power of n. It keeps the general powers of math/big, which are large, out of
// programs for browsers.
func ten(n int) *big.Int {
	power := big.NewInt(1)
	for range n {
		power.Mul(power, big.NewInt(10))
	}
	return power
}

// explain describes what is wrong with a symbol that is not a unit of k.
func (k kind) explain(symbol string) string {
	for _, other := range kinds() {
		if _, ok := other.find(symbol); ok {
			return fmt.Sprintf("%s is a unit of %s", symbol, other.name)
		}
	}
	var close []string
	for _, u := range k.units {
		if strings.EqualFold(u.symbol, symbol) {
			close = append(close, u.symbol)
		}
	}
	if len(close) > 0 {
		return fmt.Sprintf("%q is not a unit (did you mean %s?)", symbol,
			strings.Join(close, " or "))
	}
	return fmt.Sprintf("%q is not a unit", symbol)
}
