// Package units reads and prints quantities that people write with their unit: "80GiB", "3.35TB/s",
// "312TFLOPS", "50ms".
//
// Parsing is strict, because a wrong guess is a wrong simulation: a number without its unit, an
// unknown unit, a unit of another kind ("80GB" where a rate is needed), a negative number, NaN and
// Inf are errors that say what was found and what is allowed. Units are case-sensitive: b is a bit,
// B is a byte; GB is 1e9 bytes, GiB is 2^30. Results are the nearest float64.
//
// Printing is for people: four significant digits of the exact value, trailing zeros dropped. What
// is printed can be parsed.
package units

import (
	"fmt"
	"math/big"
	"strings"
)

// kind is one physical quantity and the ways to write it.
type kind struct {
	// name and example are for error messages: "a byte rate", "2039GB/s".
	name, example string
	// units may be parsed.
	units []unit
	// display are the units that formatting picks from, smallest first.
	display []unit
}

// unit is worth mul/div of the kind's base unit. Both are integers below 2^64 or powers of two, so
// they are exact.
type unit struct {
	symbol   string
	mul, div float64
}

// scale is the exact worth of one unit.
func (u unit) scale() *big.Rat {
	mul := new(big.Rat).SetFloat64(u.mul)
	return mul.Quo(mul, new(big.Rat).SetFloat64(u.div))
}

// find returns the unit of k with the given symbol.
func (k kind) find(symbol string) (unit, bool) {
	for _, u := range k.units {
		if u.symbol == symbol {
			return u, true
		}
	}
	return unit{}, false
}

// symbols lists the units of k for an error message.
func (k kind) symbols() string {
	list := make([]string, len(k.units))
	for i, u := range k.units {
		list[i] = u.symbol
	}
	return strings.Join(list, ", ")
}

// wants ends every error message: what is allowed here.
func (k kind) wants() string {
	return fmt.Sprintf("want %s such as %q (units: %s)", k.name, k.example, k.symbols())
}
