package units

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// digits is the number of significant digits in text for people.
const digits = 4

// format prints v in the largest display unit of k that leaves at least 1 of it, with a space
// before the unit.
func (k kind) format(v float64) string {
	number, symbol := k.pick(v)
	return number + " " + symbol
}

// pick chooses the display unit for v, and prints v in it. The unit is chosen after rounding:
// 999.96 GB is "1 TB".
func (k kind) pick(v float64) (number, symbol string) {
	exact := new(big.Rat).SetFloat64(math.Abs(v))
	if v == 0 || exact == nil {
		return strconv.FormatFloat(v+0, 'g', -1, 64), k.base()
	}
	sign := ""
	if v < 0 {
		sign = "-"
	}
	for i := len(k.display) - 1; i >= 0; i-- {
		u := k.display[i]
		rounded := round(new(big.Rat).Quo(exact, u.scale()))
		if i == 0 || rounded[0] != '0' {
			return sign + rounded, u.symbol
		}
	}
	panic("unreachable: the smallest unit always answers")
}

// base is the symbol for 0, NaN and infinity, which have no natural size.
func (k kind) base() string {
	for _, u := range k.display {
		if u.mul == u.div {
			return u.symbol
		}
	}
	return k.display[0].symbol
}

// round prints q > 0 to four significant digits, or to the unit above 9999; ties go away from zero.
// Trailing zeros are dropped.
func round(q *big.Rat) string {
	decimals := digits - 1
	bound := big.NewRat(10, 1)
	for ; decimals > 0 && q.Cmp(bound) >= 0; decimals-- {
		bound.Mul(bound, big.NewRat(10, 1))
	}
	for bound.SetInt64(1); q.Cmp(bound) < 0; decimals++ {
		bound.Quo(bound, big.NewRat(10, 1))
	}
	n := new(big.Int).Mul(q.Num(), ten(decimals))
	n.Lsh(n, 1).Add(n, q.Denom()).Quo(n, new(big.Int).Lsh(q.Denom(), 1))
	text := n.String()
	if decimals == 0 {
		return text
	}
	if len(text) <= decimals {
		text = strings.Repeat("0", decimals+1-len(text)) + text
	}
	point := len(text) - decimals
	return strings.TrimRight(strings.TrimRight(text[:point]+"."+text[point:], "0"), ".")
}

// least is the smallest magnitude that people get: below it a figure is a rounding error, and 0.
const least = 1e-9

// Significant prints x with so many significant digits at most, in decimals and never with an
// exponent: 1.23, 0.0000123, 12300. A whole number has all places before its point.
func Significant(x float64, digits int) string {
	if math.Abs(x) < least {
		return "0"
	}
	return strconv.FormatFloat(Rounded(x, digits), 'f', -1, 64)
}

// Rounded returns x with at most the given number of significant digits. It makes figures equal
// that machines compute alike but for the last bits.
func Rounded(x float64, digits int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x // rounding up has left the range of numbers
	}
	return short
}

// Signed is Significant with the sign of x, also of 0: +1.2, -0.03, +0.
func Signed(x float64, digits int) string {
	text := Significant(x, digits)
	if text[0] == '-' || text[0] == '+' { // +Inf has a sign of its own
		return text
	}
	return "+" + text
}

// Plural prints a number and what it counts: 1 token, 12 tokens.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Count prints a whole number with commas: 1,234,567.
func Count[T int | int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Percent prints a share with two significant digits or whole percents: 0.43%, 12%, 162%. Only what
// is exactly all is 100%.
func Percent(share float64) string {
	switch p := 100 * share; {
	case p == 0 || p == 100 || p >= 100.5:
		return fmt.Sprintf("%.0f%%", p)
	case p > 99:
		return Significant(min(p, 99.99), 4) + "%"
	case p >= 10:
		return fmt.Sprintf("%.0f%%", p)
	}
	return Significant(100*share, 2) + "%"
}

// Target prints a share that somebody has set, with all of its digits: 95%, 97.5%, 99.99%.
func Target(share float64) string { return Significant(100*share, 15) + "%" }

// PercentOf prints a share beside a target with as many digits as show on which side of it the
// share lies: 94.98% of the 95% that are wanted. What differs in rounding alone reads like it.
func PercentOf(share, target float64) string {
	wanted := exact(Target(target))
	side := cmp.Compare(exact(Target(share)), wanted)
	words := Percent(share)
	for digits := 3; cmp.Compare(exact(words), wanted) != side && digits <= 15; digits++ {
		words = Significant(100*share, digits) + "%"
	}
	return words
}

// exact is the number of a percentage that was printed.
func exact(percent string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// Times prints by what factor something is larger: 41, 8.2, 0.013.
func Times(ratio float64) string {
	if ratio >= 10 {
		return Figure(math.Round(ratio))
	}
	return Significant(ratio, 2)
}

// Figure prints a number with three significant digits, and whole numbers with commas.
func Figure(x float64) string {
	if math.Abs(x) >= 999.5 {
		return Count(int64(math.Round(x)))
	}
	return Significant(x, 3)
}

// Counted prints a figure and what it counts: 1 user, 31.1 users.
func Counted(x float64, noun string) string {
	if f := Figure(x); f != "1" {
		return f + " " + noun + "s"
	}
	return "1 " + noun
}
