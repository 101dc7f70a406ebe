package menu

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Exchange is the rate at which amounts of another currency are converted.
type Exchange struct {
	From   Currency `json:"from" required:"true" jsonschema:"The currency that is converted, such as USD."`
	Rate   float64  `json:"rate" required:"true" above:"0" jsonschema:"The amount in the currency of the file that one unit of it is worth."`
	Date   string   `json:"date" required:"true" jsonschema:"The day of the rate."`
	Source string   `json:"source" required:"true" jsonschema:"The source of the rate."`
}

// convert converts an amount, and notes the rate in the offer whose price it is; nil for none.
func convert(rates []Exchange, to units.Currency, m *scenarios.Money, o *Offer) error {
	if m.Amount == 0 || m.Currency == to {
		return nil
	}
	for _, e := range rates {
		if e.From.Currency == m.Currency {
			if o != nil {
				o.exchanged = fmt.Sprintf(", converted from %s at %s (%s, %s)", m.Text(),
					to.Format(fmt.Sprintf("%g", e.Rate)), e.Source, e.Date)
			}
			*m = scenarios.Money{Amount: m.Amount * e.Rate, Currency: to}
			return nil
		}
	}
	return fmt.Errorf("the price is in %s, and the answer would be in %s: write all prices in one "+
		"currency, or give the price file an exchange, such as {from: %[1]s, rate: 1.1, date: "+
		"2026-11-22, source: a bank}", m.Currency.Code(), to.Code())
}

// settle converts the prices of a file to its currency.
func (l *PriceList) settle(doc *strict.Document) error {
	if !doc.Has("currency") {
		l.Currency.Currency = l.Offers[0].Price.Currency
	}
	for i := range l.Offers {
		o := &l.Offers[i]
		err := convert(l.Exchange, l.Currency.Currency, (*scenarios.Money)(&o.Price), o)
		if err != nil {
			return doc.Problem(fmt.Sprintf("offers.%d.price", i), "%v", err)
		}
	}
	tokens, err := convertTokens(l.Exchange, l.Currency.Currency, l.Tokens)
	if err != nil {
		return doc.Problem("tokens", "%v", err)
	}
	l.Tokens = tokens
	return nil
}

func convertTokens(rates []Exchange, to units.Currency,
	p *scenarios.TokenPrices) (*scenarios.TokenPrices, error) {
	if p == nil {
		return nil, nil
	}
	made := *p
	list := []*scenarios.TokenPrice{&made.Input, &made.Output}
	if p.Cached != nil {
		cached := *p.Cached
		made.Cached = &cached
		list = append(list, made.Cached)
	}
	for _, price := range list {
		if err := convert(rates, to, (*scenarios.Money)(price), nil); err != nil {
			return nil, err
		}
	}
	return &made, nil
}

// settle chooses the currency of the plan, and converts its prices: that of the price file, or else
// that of the first accelerator of the menu. Prices of the catalogue are in US dollars.
func (p *Plan) settle(doc *strict.Document, list *PriceList) error {
	lists := p.offers()
	fields := slices.Sorted(maps.Keys(lists))
	if list != nil {
		p.Currency, p.exchange = list.Currency.Currency, list.Exchange
	} else if first := *lists["menu.hardware"]; len(first) > 0 {
		p.Currency = first[0].Price.Currency
	}
	for _, field := range fields {
		for i := range *lists[field] {
			o, at := &(*lists[field])[i], fmt.Sprintf("%s.%d", field, i)
			if doc.Has(at+".currency") && o.Currency.Currency != o.Price.Currency {
				return doc.Problem(at+".currency", "found %s, and the price is in %s",
					o.Currency.Code(), o.Price.Currency.Code())
			}
			if err := p.convert(doc, at+".price", (*scenarios.Money)(&o.Price), o); err != nil {
				return err
			}
		}
	}
	if err := p.convert(doc, "goal.budget", (*scenarios.Money)(&p.Goal.Budget), nil); err != nil {
		return err
	}
	if err := p.convertMemory(doc, "menu.memory", p.Menu.Memory); err != nil {
		return err
	}
	for i := range p.Menu.Disaggregated {
		field, split := fmt.Sprintf("menu.disaggregated.%d.", i), &p.Menu.Disaggregated[i]
		err := errors.Join(p.convertMemory(doc, field+"prefill.memory", split.Prefill.Memory),
			p.convertMemory(doc, field+"decode.memory", split.Decode.Memory))
		if err != nil {
			return err
		}
	}
	tokens, err := convertTokens(p.exchange, p.Currency, p.Tokens)
	if err != nil {
		return doc.Problem("tokens", "%v", err)
	}
	p.Tokens = tokens
	return nil
}

// convertMemory converts the prices of host memory, disks and pools.
func (p *Plan) convertMemory(doc *strict.Document, field string, list []scenarios.KVMemory) error {
	for i := range list {
		m, at := &list[i], fmt.Sprintf("%s.%d.", field, i)
		keys := []string{"price", "disk-price", "pool-price"}
		for k, price := range []*scenarios.Price{&m.Price, &m.DiskPrice, &m.PoolPrice} {
			if err := p.convert(doc, at+keys[k], (*scenarios.Money)(price), nil); err != nil {
				return err
			}
		}
		for k := range m.Tiers {
			price, err := m.Tiers[k].Hourly()
			if err != nil || price.Amount == 0 || price.Currency == p.Currency {
				continue // what is wrong is refused where the tier is read
			}
			at := fmt.Sprintf("%stiers.%d.price", at, k)
			if err := p.convert(doc, at, (*scenarios.Money)(&price), nil); err != nil {
				return err
			}
			m.Tiers[k].Price = scenarios.Money(price).Text() + "/h"
		}
	}
	return nil
}

// convert converts an amount to the currency of the plan.
func (p *Plan) convert(doc *strict.Document, field string, m *scenarios.Money, o *Offer) error {
	if err := convert(p.exchange, p.Currency, m, o); err != nil {
		return doc.Problem(field, "%v", err)
	}
	return nil
}

// InCurrency returns an amount in the currency of the plan.
func (p *Plan) InCurrency(m scenarios.Money) (float64, error) {
	err := convert(p.exchange, p.Currency, &m, nil)
	return m.Amount, err
}
