package asked

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// PriceList is the content of a price file.
type PriceList struct {
	Date     string                 `json:"date,omitempty" jsonschema:"The day of the prices, such as 2026-11-22. Offers may have a date of their own."`
	Source   string                 `json:"source,omitempty" jsonschema:"The source of the prices."`
	Provider string                 `json:"provider,omitempty" jsonschema:"The company that offers the accelerators."`
	Currency Currency               `json:"currency,omitzero" jsonschema:"The currency of the answer, such as EUR. Default: that of the first offer."`
	Exchange []Exchange             `json:"exchange,omitempty" jsonschema:"Rates at which prices in other currencies, such as those of the catalogue, are converted."`
	Offers   []Offer                `json:"offers" required:"true" jsonschema:"Accelerators with price, region, term and carbon."`
	Tokens   *scenarios.TokenPrices `json:"tokens,omitempty" jsonschema:"The price at which a million tokens are sold, or cost with a provider."`
}

// Price settles the currency of the plan and converts its prices. It replaces each entry of the
// menu without a price by the offers of the price file for its accelerator, in its region and on
// its terms where it names them.
func (p *Plan) Price(doc *strict.Document) error {
	if p.Prices == "" {
		if p.Menu.Hardware == nil {
			list, err := onSale()
			if err != nil {
				return err
			}
			p.Menu.Hardware = list
		}
		return p.chooseCurrency(doc, nil)
	}
	list, err := readPrices(p.Prices)
	if errors.Is(err, fs.ErrNotExist) {
		return doc.Problem("prices", "%s: no such file", p.Prices)
	}
	if err != nil {
		return err
	}
	p.priced = list.words(p.Prices)
	if p.Menu.Hardware == nil {
		p.Menu.Hardware = list.accelerators()
	}
	if err := p.chooseCurrency(doc, list); err != nil {
		return err
	}
	p.Tokens = cmp.Or(p.Tokens, list.Tokens)
	var problems strict.Problems
	for _, l := range p.offers() {
		var priced []Offer
		for i := range *l.offers {
			o, at := &(*l.offers)[i], fmt.Sprintf("%s.%d", l.key, i)
			found := list.of(o, doc.Has(at+".term"))
			if found == nil {
				problems = append(problems, doc.Problem(at, "found no price for it in %s: %s",
					p.Prices, list.missing(o)))
			}
			priced = append(priced, found...)
		}
		*l.offers = priced
	}
	if problems != nil {
		return problems
	}
	return nil
}

// offerList is a list of offers of the menu, and its key.
type offerList struct {
	key    string
	offers *[]Offer
}

// offers returns the lists of offers of the menu.
func (p *Plan) offers() []offerList {
	p.Menu.Disaggregated = slices.Clone(p.Menu.Disaggregated)
	lists := []offerList{{"menu.hardware", &p.Menu.Hardware}}
	for i := range p.Menu.Disaggregated {
		field, split := fmt.Sprintf("menu.disaggregated.%d.", i), &p.Menu.Disaggregated[i]
		lists = append(lists, offerList{field + "prefill.hardware", &split.Prefill.Hardware},
			offerList{field + "decode.hardware", &split.Decode.Hardware})
	}
	return lists
}

// eachOffer yields the offers of the menu with their keys.
func (p *Plan) eachOffer() iter.Seq2[string, *Offer] {
	return func(yield func(string, *Offer) bool) {
		for _, l := range p.offers() {
			for i := range *l.offers {
				if !yield(fmt.Sprintf("%s.%d", l.key, i), &(*l.offers)[i]) {
					return
				}
			}
		}
	}
}

// Own sets the prices of owned accelerators of the menu.
func (p *Plan) Own(doc *strict.Document) error {
	for at, o := range p.eachOffer() {
		if err := o.own(doc, at); err != nil {
			return err
		}
	}
	return nil
}

// onSale returns the GPUs and TPUs that have a price in the catalogue.
func onSale() (list []Offer, err error) {
	catalog, err := hardware.Load()
	for i := range catalog.Accelerators {
		if a := &catalog.Accelerators[i]; a.Price > 0 && (a.Kind == "gpu" || a.Kind == "tpu") {
			list = append(list, Offer{Accelerator: a.Name})
		}
	}
	return list, err
}

// accelerators returns each accelerator of the list once.
func (l *PriceList) accelerators() (list []Offer) {
	for i := range l.Offers {
		name := l.Offers[i].Accelerator
		if !slices.ContainsFunc(list, func(o Offer) bool { return o.Accelerator == name }) {
			list = append(list, Offer{Accelerator: name})
		}
	}
	return list
}

// words names the file, its date, or its offers' dates, and its source.
func (l *PriceList) words(name string) string {
	oldest, newest := l.Offers[0].Date, l.Offers[0].Date
	for i := range l.Offers {
		oldest, newest = min(oldest, l.Offers[i].Date), max(newest, l.Offers[i].Date)
	}
	text := name + " of " + oldest
	if newest > oldest {
		text += " to " + newest
	}
	if l.Source != "" {
		text += ", " + l.Source
	}
	return text
}

// readPrices reads a price file: CSV where its name ends so, else YAML.
func readPrices(name string) (*PriceList, error) {
	data, err := files.Read(files.Disk{}, name, strict.MostText)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	if strings.EqualFold(filepath.Ext(name), ".csv") {
		if data, err = fromCSV(name, data, offerKeys()); err != nil {
			return nil, err
		}
	}
	doc, err := strict.Parse(name, data)
	if err != nil {
		return nil, err
	}
	list := new(PriceList)
	if err := doc.Decode(list); err != nil {
		return nil, err
	}
	if len(list.Offers) == 0 {
		return nil, errors.New(name + ": offers: the list is empty")
	}
	for i := range list.Offers {
		o, field := &list.Offers[i], fmt.Sprintf("offers.%d", i)
		if err := o.own(doc, field); err != nil {
			return nil, err
		}
		if o.Price.Amount == 0 {
			return nil, doc.Problem(field, "has no price")
		}
		if o.Date == "" {
			o.Date, field = list.Date, ""
		}
		o.Source, o.Provider = cmp.Or(o.Source, list.Source), cmp.Or(o.Provider, list.Provider)
		if doc.Has(field+".currency") && o.Currency.Currency != o.Price.Currency {
			return nil, doc.Problem(field+".currency", "found %s, and the price is in %s",
				o.Currency.Code(), o.Price.Currency.Code())
		}
		field = strings.TrimPrefix(field+".date", ".")
		if o.Date == "" {
			return nil, doc.Problem(field, "must be given, for the file or for each of its offers")
		}
		if _, err := time.Parse(time.DateOnly, o.Date); err != nil {
			return nil, doc.Problem(field, "found %q; want a day such as 2026-11-22", o.Date)
		}
	}
	return list, list.convertPrices(doc)
}

// of returns the offers that an entry of the menu means. An entry with a price means itself.
func (l *PriceList) of(entry *Offer, termed bool) []Offer {
	if entry.Price.Amount > 0 {
		return []Offer{*entry}
	}
	var list []Offer
	for _, o := range l.Offers {
		if o.Accelerator != entry.Accelerator || termed && o.RentedOn() != entry.RentedOn() ||
			entry.Region != "" && o.Region != entry.Region {
			continue
		}
		o.File, o.Link, o.Network = cmp.Or(entry.File, o.File), cmp.Or(entry.Link, o.Link),
			cmp.Or(entry.Network, o.Network)
		o.PerNode, o.Count = cmp.Or(entry.PerNode, o.PerNode), cmp.Or(entry.Count, o.Count)
		list = append(list, o)
	}
	return list
}

// missing says which offer a price file does not have, and names the nearest offer.
func (l *PriceList) missing(entry *Offer) string {
	var names, terms []string
	for i := range l.Offers {
		o := &l.Offers[i]
		names = append(names, o.Accelerator)
		if o.Accelerator == entry.Accelerator {
			terms = append(terms, strings.TrimSpace(o.RentedOn()+" "+o.Region))
		}
	}
	if terms == nil {
		slices.Sort(names)
		return nearest.Unknown("accelerator", entry.Accelerator, slices.Compact(names))
	}
	return nearest.Unknown("offer", strings.TrimSpace(entry.Term+" "+entry.Region), terms)
}

// listed returns the rows of the catalogue's table of prices for an accelerator, by any of its
// names.
func listed(accelerator string) []hardware.Listing {
	catalog, err := hardware.Load()
	if err != nil {
		return nil
	}
	a, err := catalog.Accelerator(accelerator)
	if err != nil {
		return nil // which is said where it is built
	}
	rows, err := hardware.Listings()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(rows),
		func(l hardware.Listing) bool { return l.Accelerator != a.Name })
}

// Listed returns the row of the catalogue's table that has the price of an offer: the first of its
// provider and region, where it names them.
func (o *Offer) Listed() (hardware.Listing, bool) {
	for _, l := range listed(o.Accelerator) {
		if (o.Provider == "" || o.Provider == l.Provider) &&
			(o.Region == "" || o.Provider == "" || o.Region == l.Region) {
			return l, true
		}
	}
	return hardware.Listing{}, false
}

// List sets the prices of the accelerators of the menu that name a provider and have no price, from
// the catalogue's table.
func (p *Plan) List(doc *strict.Document) error {
	for at, o := range p.eachOffer() {
		if o.Price.Amount > 0 {
			continue
		}
		if o.File != "" {
			if p.Currency != "" {
				return doc.Problem(at, "prices of files of accelerators are in USD, and those of "+
					"the plan in %s: give a price", p.Currency.Code())
			}
			continue
		}
		l, known := o.Listed()
		if o.Provider == "" {
			o.listed, o.listedPrice = l.Provider, l.Price
			if p.Currency == "" || !known {
				continue
			}
		}
		if !known {
			return doc.Problem(at+".provider", "the catalogue has no price of %s: %s; give one, "+
				"such as price: $2/h", strings.TrimSpace(o.Accelerator+" "+o.Region),
				o.providers())
		}
		o.Price, o.Date, o.Source = scenarios.Price{Amount: l.Price}, l.Date, l.Source
		if err := p.convert(doc, at, (*scenarios.Money)(&o.Price), o); err != nil {
			return err
		}
	}
	return nil
}

// providers names the providers of the catalogue's prices of an offer's accelerator.
func (o *Offer) providers() string {
	var names []string
	for _, l := range listed(o.Accelerator) {
		if l.Provider != "" {
			names = append(names, strings.TrimSpace(l.Provider+" "+l.Region))
		}
	}
	if names == nil {
		return "no provider is known"
	}
	return nearest.Unknown("provider", strings.TrimSpace(o.Provider+" "+o.Region), names)
}

// Exchange is the rate at which amounts of another currency are converted.
type Exchange struct {
	From   Currency `json:"from" required:"true" jsonschema:"The currency that is converted, such as USD."`
	Rate   float64  `json:"rate" required:"true" above:"0" jsonschema:"The amount in the currency of the file that one unit of it is worth."`
	Date   string   `json:"date" required:"true" jsonschema:"The day of the rate."`
	Source string   `json:"source" required:"true" jsonschema:"The source of the rate."`
}

// convert converts an amount, and notes the rate in the offer whose price it is; nil without one.
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

// convertPrices converts the prices of a file to its currency.
func (l *PriceList) convertPrices(doc *strict.Document) error {
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
	return convertTokens(doc, l.Exchange, l.Currency.Currency, l.Tokens)
}

// convertTokens converts prices of tokens; nil stays nil.
func convertTokens(doc *strict.Document, rates []Exchange, to units.Currency,
	p *scenarios.TokenPrices) error {
	if p == nil {
		return nil
	}
	prices := []*scenarios.TokenPrice{&p.Input, &p.Output}
	if p.Cached != nil {
		prices = append(prices, p.Cached)
	}
	for _, price := range prices {
		if err := convert(rates, to, (*scenarios.Money)(price), nil); err != nil {
			return doc.Problem("tokens", "%v", err)
		}
	}
	return nil
}

// chooseCurrency chooses the currency of the plan, and converts its prices: the price file's, or
// else the first of the menu's accelerators'. Prices of the catalogue are in US dollars.
func (p *Plan) chooseCurrency(doc *strict.Document, list *PriceList) error {
	if list != nil {
		p.Currency, p.exchange = list.Currency.Currency, list.Exchange
	} else if first := p.Menu.Hardware; len(first) > 0 {
		p.Currency = first[0].Price.Currency
	}
	for at, o := range p.eachOffer() {
		if doc.Has(at+".currency") && o.Currency.Currency != o.Price.Currency {
			return doc.Problem(at+".currency", "found %s, and the price is in %s",
				o.Currency.Code(), o.Price.Currency.Code())
		}
		if err := p.convert(doc, at+".price", (*scenarios.Money)(&o.Price), o); err != nil {
			return err
		}
	}
	err := errors.Join(
		p.convert(doc, "goal.budget", (*scenarios.Money)(&p.Goal.Budget), nil),
		p.convertMemory(doc, "menu.memory", p.Menu.Memory),
		convertTokens(doc, p.exchange, p.Currency, p.Tokens))
	for i := range p.Menu.Disaggregated {
		field, split := fmt.Sprintf("menu.disaggregated.%d.", i), &p.Menu.Disaggregated[i]
		err = errors.Join(err, p.convertMemory(doc, field+"prefill.memory", split.Prefill.Memory),
			p.convertMemory(doc, field+"decode.memory", split.Decode.Memory))
	}
	return err
}

// convertMemory converts the prices of host memory, disks and pools.
func (p *Plan) convertMemory(doc *strict.Document, field string, list []scenarios.KVMemory) error {
	var wrong error
	for i := range list {
		m, at := &list[i], fmt.Sprintf("%s.%d.", field, i)
		convert := func(key string, price *scenarios.Price) {
			wrong = errors.Join(wrong, p.convert(doc, at+key, (*scenarios.Money)(price), nil))
		}
		convert("price", &m.Price)
		convert("disk-price", &m.DiskPrice)
		convert("pool-price", &m.PoolPrice)
		for k := range m.Tiers {
			price, err := m.Tiers[k].Hourly()
			if err != nil || price.Amount == 0 || price.Currency == p.Currency {
				continue // what is wrong is refused where the tier is read
			}
			convert(fmt.Sprintf("tiers.%d.price", k), &price)
			m.Tiers[k].Price = scenarios.Money(price).Text() + "/h"
		}
	}
	return wrong
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

// offerKeys lists the keys of an offer.
func offerKeys() []string {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Offer]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() {
			keys = append(keys, key)
		}
	}
	return keys
}
