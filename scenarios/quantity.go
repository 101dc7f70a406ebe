package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Span is a length of time, written as "50ms" or "10m".
type Span sim.Time

// UnmarshalText reads a duration with its unit.
func (s *Span) UnmarshalText(text []byte) error {
	seconds, err := units.ParseDuration(string(text))
	if err != nil {
		return err
	}
	if seconds >= sim.Never.Seconds() {
		return fmt.Errorf("%q is too long; the simulated clock ends after %.0f days", text,
			sim.Never.Seconds()/86400)
	}
	if *s = Span(sim.Seconds(seconds)); *s == 0 && seconds > 0 {
		return fmt.Errorf("%q is too short; the simulated clock ticks every 10ps", text)
	}
	return nil
}

// MarshalText writes the span exactly, in the largest unit that is not above it.
func (s Span) MarshalText() ([]byte, error) {
	for _, unit := range []struct {
		symbol string
		size   sim.Time
	}{{"d", 86400 * sim.Second}, {"h", 3600 * sim.Second}, {"m", 60 * sim.Second}} {
		if sim.Time(s) >= unit.size && sim.Time(s)%unit.size == 0 {
			return []byte(strconv.FormatInt(int64(sim.Time(s)/unit.size), 10) + unit.symbol), nil
		}
	}
	symbol, decimals, unit := "ns", 2, sim.Nanosecond // of a tick
	switch t := sim.Time(s); {
	case t >= sim.Second || t == 0:
		symbol, decimals, unit = "s", 11, sim.Second
	case t >= sim.Millisecond:
		symbol, decimals, unit = "ms", 8, sim.Millisecond
	case t >= sim.Microsecond:
		symbol, decimals, unit = "us", 5, sim.Microsecond
	}
	exact := fmt.Sprintf("%d.%0*d", sim.Time(s)/unit, decimals, sim.Time(s)%unit)
	return []byte(trimZeros(exact) + symbol), nil
}

// String returns the span as it is written in a scenario.
func (s Span) String() string {
	text, _ := s.MarshalText()
	return string(text)
}

// PerSecond is a number of requests a second, written as "4/s" or "90/min".
type PerSecond float64

// UnmarshalText reads a rate with its unit.
func (r *PerSecond) UnmarshalText(text []byte) error {
	perSecond, err := units.ParseRequestRate(string(text))
	*r = PerSecond(perSecond)
	return err
}

// MarshalText writes the rate exactly, in requests a second.
func (r PerSecond) MarshalText() ([]byte, error) {
	if math.IsNaN(float64(r)) || math.IsInf(float64(r), 0) {
		return nil, fmt.Errorf("a rate of %v cannot be written", float64(r))
	}
	return []byte(strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s"), nil
}

// String returns the rate as it is written in a scenario.
func (r PerSecond) String() string { return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s" }

// Bytes is an amount of memory, written as "16GiB".
type Bytes float64

// UnmarshalText reads an amount with its unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	amount, err := units.ParseBytes(string(text))
	*b = Bytes(amount)
	return err
}

// MarshalText writes the amount exactly, in bytes.
func (b Bytes) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(b), 'f', -1, 64) + "B"), nil
}

// trimZeros drops the zeros at the end of a decimal fraction, and the point if nothing follows it.
func trimZeros(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// InputError is an error in the user's input: the scenario, overrides, or a file that they name.
type InputError struct{ err error }

// Error returns the message.
func (e InputError) Error() string { return e.err.Error() }

// Unwrap returns the error within.
func (e InputError) Unwrap() error { return e.err }

// BadInput marks an error as one in the user's input.
func BadInput(err error) error { return InputError{err} }

// IsInputError reports whether err is an error in the input rather than a failure of the run.
func IsInputError(err error) bool {
	var input InputError
	return errors.As(err, &input)
}

// plainPathError says what is wrong with a path in words, without the name of the system call.
func plainPathError(err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return err
	}
	return fmt.Errorf("%s: %s", failed.Path, strings.TrimPrefix(failed.Err.Error(), failed.Op+" "))
}

// Money is an amount in a currency.
type Money struct {
	Amount   float64
	Currency units.Currency
}

// ParseMoney reads an amount of at most a billion before a unit, such as "$30000" or "0.2 EUR/kWh".
func ParseMoney(text, unit string) (m Money, ok bool, err error) {
	dollars, currency, err := units.CutCurrency(strings.TrimSpace(text))
	if err != nil {
		return m, false, err
	}
	number, known := strings.CutPrefix(dollars, "$")
	number, ends := strings.CutSuffix(number, unit)
	amount, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	ok = known && ends && err == nil && amount >= 0 && amount <= 1e9
	return Money{amount, currency}, ok, nil
}

// Text writes the amount exactly, with its currency.
func (m Money) Text() string {
	return m.Currency.Format(strconv.FormatFloat(m.Amount, 'f', -1, 64))
}

// Price is a price an hour, written as "$1.79/h", "€1.79/h" or "1.79 EUR/h".
type Price Money

// UnmarshalText reads a price with its currency and unit.
func (p *Price) UnmarshalText(text []byte) error {
	dollars, currency, err := units.CutCurrency(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	hourly, err := units.ParsePrice(dollars)
	*p = Price{hourly, currency}
	return err
}

// MarshalText writes the price exactly.
func (p Price) MarshalText() ([]byte, error) { return []byte(Money(p).Text() + "/h"), nil }

// Number returns the amount.
func (p Price) Number() float64 { return p.Amount }

// TokenPrice is a price of a million tokens, written as "$0.15/M".
type TokenPrice Money

// UnmarshalText reads a price with its currency and unit.
func (p *TokenPrice) UnmarshalText(text []byte) error {
	m, ok, err := ParseMoney(string(text), "/M")
	if err == nil && !ok {
		err = fmt.Errorf("found %q; want a price of a million tokens, such as $0.15/M", text)
	}
	*p = TokenPrice(m)
	return err
}

// MarshalText writes the price exactly.
func (p TokenPrice) MarshalText() ([]byte, error) { return []byte(Money(p).Text() + "/M"), nil }

// Number returns the amount.
func (p TokenPrice) Number() float64 { return p.Amount }
