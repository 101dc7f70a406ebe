package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
)

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
