package asked

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Watts is a power, written as "10kW".
type Watts float64

// UnmarshalText reads a power with its unit.
func (w *Watts) UnmarshalText(text []byte) error {
	watts, err := units.ParsePower(string(text))
	*w = Watts(watts)
	return err
}

// MarshalText writes the power exactly, in watts.
func (w Watts) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(w), 'f', -1, 64) + "W"), nil
}

// Carbon is the emissions of electricity, in grams of CO2 equivalent a kWh, written as "380g/kWh".
type Carbon float64

// UnmarshalText reads an amount with its unit.
func (c *Carbon) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(strings.TrimSpace(string(text)), "g/kWh")
	grams, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(grams >= 0 && grams < 1e5) {
		return fmt.Errorf("found %q; want grams of CO2 a kWh, such as 380g/kWh", text)
	}
	*c = Carbon(grams)
	return nil
}

// MarshalText writes the amount exactly.
func (c Carbon) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(c), 'f', -1, 64) + "g/kWh"), nil
}

// Currency is the currency of the prices of a file, by its code.
type Currency struct{ units.Currency }

// UnmarshalText reads the code of a currency.
func (c *Currency) UnmarshalText(text []byte) (err error) {
	c.Currency, err = units.ParseCurrency(string(text))
	return err
}

// MarshalText writes the code.
func (c Currency) MarshalText() ([]byte, error) { return []byte(c.Code()), nil }

// Purchase is an amount of money, written as "$30000".
type Purchase scenarios.Money

// UnmarshalText reads an amount.
func (p *Purchase) UnmarshalText(text []byte) error {
	m, ok, err := scenarios.ParseMoney(string(text), "")
	if err == nil && !ok {
		err = fmt.Errorf("found %q; want an amount of money, such as $30000", text)
	}
	*p = Purchase(m)
	return err
}

// MarshalText writes the amount exactly.
func (p Purchase) MarshalText() ([]byte, error) { return []byte(scenarios.Money(p).Text()), nil }

// Number returns the amount.
func (p Purchase) Number() float64 { return p.Amount }

// Electricity is the price of electricity, written as "$0.12/kWh".
type Electricity scenarios.Money

// UnmarshalText reads a price with its unit.
func (e *Electricity) UnmarshalText(text []byte) error {
	m, ok, err := scenarios.ParseMoney(string(text), "/kWh")
	if err == nil && !ok {
		err = fmt.Errorf("found %q; want a price of a kWh, such as $0.12/kWh", text)
	}
	*e = Electricity(m)
	return err
}

// MarshalText writes the price exactly.
func (e Electricity) MarshalText() ([]byte, error) {
	return []byte(scenarios.Money(e).Text() + "/kWh"), nil
}

// Number returns the amount.
func (e Electricity) Number() float64 { return e.Amount }
