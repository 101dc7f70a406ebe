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
		return o.at()
	}
	words := o.RentedOn()
	if o.Provider != "" {
		words += " from " + o.Provider
	}
	if o.Region != "" {
		words += " in " + o.Region
	}
	return " " + words + o.at()
}

// at returns the price of an offer in words, that of the catalogue where it has none of its own. It
// is empty where neither is known.
func (o *Offer) at() string {
	price := cmp.Or(o.Price.Amount, o.listedPrice)
	if price == 0 {
		return ""
	}
	return " at " + units.FormatPrice(price, o.Price.Currency)
}

// hoursOfYear is the hours of a year of 365.25 days.
const hoursOfYear = 8766

// own sets the price of an accelerator that was bought: its purchase price over the hours of its
// years, and what it draws at the price of electricity.
func (o *Offer) own(doc *strict.Document, field string) error {
	if o.RentedOn() != owned {
		return nil
	}
	if o.Price.Amount != 0 {
		return doc.Problem(field+".price", "the price of an owned accelerator follows from "+
			"purchase, years, draw and electricity; leave price out")
	}
	if o.Electricity.Currency != o.Purchase.Currency {
		return doc.Problem(field+".electricity", "the price is in %s, and that of purchase in %s; "+
			"convert one of them", o.Electricity.Currency.Code(), o.Purchase.Currency.Code())
	}
	o.Price = scenarios.Price{Currency: o.Purchase.Currency,
		Amount: float64(o.Purchase.Amount/(o.Years*hoursOfYear)) +
			float64(float64(o.Draw)/1000*o.Electricity.Amount)}
	return nil
}

// PriceSource says where the price of an offer is from; it is empty where that is the catalogue.
func (o *Offer) PriceSource() string {
	return o.priceSource() + o.exchanged
}

func (o *Offer) priceSource() string {
	switch {
	case o.RentedOn() == owned:
		c, number := o.Purchase.Currency, func(x float64) string { return fmt.Sprintf("%g", x) }
		return strings.TrimPrefix(fmt.Sprintf("%s, bought for %s, over %g years, and %s at %s/kWh",
			o.Source, c.Format(number(o.Purchase.Amount)), o.Years,
			units.FormatPower(float64(o.Draw)), c.Format(number(o.Electricity.Amount))), ", ")
	case o.Source == "" && o.Price.Amount > 0:
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
