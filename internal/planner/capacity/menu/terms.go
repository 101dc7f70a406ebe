package menu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// The terms on which accelerators are paid for.
const (
	onDemand = "on-demand"
	Reserved = "reserved"
	Spot     = "spot"
	owned    = "owned"
)

// RentedOn returns the term of an offer.
func (o *Offer) RentedOn() string { return cmp.Or(o.Term, onDemand) }

// ByHour reports whether an offer is paid for only while it runs.
func (o *Offer) ByHour() bool { return o.RentedOn() == onDemand || o.RentedOn() == Spot }

// Joins reports whether one fleet may have accelerators of two offers: those of different providers
// only where the plan mixes providers. The catalogue's price has the catalogue's provider. Offers
// without a provider join all others. All of a fleet is as far from its users.
func (p *Plan) Joins(a, b *Offer) bool {
	one, other := cmp.Or(a.Provider, a.listed), cmp.Or(b.Provider, b.listed)
	return a.RoundTrip == b.RoundTrip && (p.Mix || one == "" || other == "" || one == other)
}

// Stays reports whether accelerators of an offer may be the base beside spot ones: they are the
// same, join them, and are not taken away.
func (p *Plan) Stays(o, spot *Offer) bool {
	like := func(o *Offer) Offer {
		return Offer{Accelerator: o.Accelerator, File: o.File, Link: o.Link, Network: o.Network,
			PerNode: o.PerNode}
	}
	return o.Term != Spot && spot.Term == Spot && like(o) == like(spot) && p.Joins(o, spot)
}

// Terms returns the terms of an offer in words, which distinguish it from other offers of the same
// accelerator. They are empty for the only offer of an accelerator if it is on demand.
func (o *Offer) Terms(list []Offer) string {
	if o.RentedOn() == onDemand && !slices.ContainsFunc(list, func(other Offer) bool {
		return other.Accelerator == o.Accelerator && other != *o
	}) {
		return ""
	}
	if o.Region == "" && o.Term == "" && o.Provider == "" {
		return fmt.Sprintf(" at $%g/h", float64(o.Price))
	}
	words := o.RentedOn()
	if o.Provider != "" {
		words += " from " + o.Provider
	}
	if o.Region != "" {
		words += " in " + o.Region
	}
	return " " + words + " at " + units.FormatPrice(float64(o.Price))
}

// hoursOfYear is the hours of a year of 365.25 days.
const hoursOfYear = 8766

// own sets the price of an accelerator that was bought: its purchase price over the hours of its
// years, and what it draws at the price of electricity.
func (o *Offer) own(doc *strict.Document, field string) error {
	if o.RentedOn() != owned {
		return nil
	}
	if o.Price != 0 {
		return doc.Problem(field+".price", "the price of an owned accelerator follows from "+
			"purchase, years, draw and electricity; leave price out")
	}
	o.Price = scenarios.Price(float64(float64(o.Purchase)/(o.Years*hoursOfYear)) +
		float64(float64(o.Draw)/1000*float64(o.Electricity)))
	return nil
}

// PriceSource says where the price of an offer is from; it is empty where that is the catalogue.
func (o *Offer) PriceSource() string {
	switch {
	case o.RentedOn() == owned:
		return strings.TrimPrefix(fmt.Sprintf("%s, bought for $%g, over %g years, and %s at "+
			"$%g/kWh", o.Source, float64(o.Purchase), o.Years, units.FormatPower(float64(o.Draw)),
			float64(o.Electricity)), ", ")
	case o.Source == "" && o.Price > 0:
		return "given without a source"
	}
	return o.Source
}

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

// Currency is the currency of a price. All prices of a plan are in US dollars, since the catalogue
// and the prices of tokens are, and amounts in several currencies cannot be compared.
type Currency string

// UnmarshalText reads USD.
func (c *Currency) UnmarshalText(text []byte) error {
	if string(text) != "USD" {
		return fmt.Errorf("found %q; want USD: no exchange rates are known, so write all prices "+
			"in US dollars, such as $2/h", text)
	}
	*c = Currency(text)
	return nil
}

// Dollars is an amount of US dollars, written as "$30000".
type Dollars float64

// UnmarshalText reads an amount.
func (d *Dollars) UnmarshalText(text []byte) error {
	v, ok := amount(string(text), "")
	if !ok {
		return fmt.Errorf("found %q; want US dollars, such as $30000", text)
	}
	*d = Dollars(v)
	return nil
}

// MarshalText writes the amount exactly.
func (d Dollars) MarshalText() ([]byte, error) {
	return []byte("$" + strconv.FormatFloat(float64(d), 'f', -1, 64)), nil
}

// Electricity is the price of electricity in US dollars a kWh, written as "$0.12/kWh".
type Electricity float64

// UnmarshalText reads a price with its unit.
func (e *Electricity) UnmarshalText(text []byte) error {
	v, ok := amount(string(text), "/kWh")
	if !ok {
		return fmt.Errorf("found %q; want US dollars a kWh, such as $0.12/kWh", text)
	}
	*e = Electricity(v)
	return nil
}

// MarshalText writes the price exactly.
func (e Electricity) MarshalText() ([]byte, error) {
	return []byte("$" + strconv.FormatFloat(float64(e), 'f', -1, 64) + "/kWh"), nil
}

// amount reads dollars before a unit, at most a billion.
func amount(text, unit string) (float64, bool) {
	text, dollars := strings.CutPrefix(strings.TrimSpace(text), "$")
	text, ends := strings.CutSuffix(text, unit)
	v, err := strconv.ParseFloat(text, 64)
	return v, dollars && ends && err == nil && v >= 0 && v <= 1e9
}
