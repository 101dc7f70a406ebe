package menu

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// The terms on which accelerators are rented.
const (
	onDemand = "on-demand"
	Reserved = "reserved"
	Spot     = "spot"
)

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

// PriceList is the content of a price file.
type PriceList struct {
	Date   string                 `json:"date" required:"true" jsonschema:"The day of the prices, such as 2026-11-22."`
	Source string                 `json:"source,omitempty" jsonschema:"The source of the prices."`
	Offers []Offer                `json:"offers" required:"true" jsonschema:"Accelerators with price, region, term and carbon."`
	Tokens *scenarios.TokenPrices `json:"tokens,omitempty" jsonschema:"The price at which a million tokens are sold, or cost with a provider."`
}

// Price replaces each entry of the menu without a price by the offers of the price file for its
// accelerator, in its region and on its terms where it names them.
func (p *Plan) Price(doc *strict.Document) error {
	list, err := readPrices(p.Prices)
	if errors.Is(err, fs.ErrNotExist) {
		return doc.Problem("prices", "%s: no such file", p.Prices)
	}
	if err != nil {
		return err
	}
	p.priced = p.Prices + " of " + list.Date
	if list.Source != "" {
		p.priced += ", " + list.Source
	}
	p.Tokens = cmp.Or(p.Tokens, list.Tokens)
	p.Menu.Disaggregated = slices.Clone(p.Menu.Disaggregated)
	lists := map[string]*[]Offer{"menu.hardware": &p.Menu.Hardware}
	for i := range p.Menu.Disaggregated {
		field := fmt.Sprintf("menu.disaggregated.%d.", i)
		split := &p.Menu.Disaggregated[i]
		lists[field+"prefill.hardware"] = &split.Prefill.Hardware
		lists[field+"decode.hardware"] = &split.Decode.Hardware
	}
	var problems strict.Problems
	for field, offers := range lists {
		var priced []Offer
		for i := range *offers {
			o := &(*offers)[i]
			found := list.of(o, doc.Has(fmt.Sprintf("%s.%d.term", field, i)))
			if found == nil {
				problems = append(problems, doc.Problem(fmt.Sprintf("%s.%d", field, i),
					"found no price for it in %s: %s", p.Prices, list.missing(o)))
			}
			priced = append(priced, found...)
		}
		*offers = priced
	}
	slices.SortFunc(problems, func(a, b strict.Problem) int {
		return cmp.Compare(a.Error(), b.Error())
	})
	if problems != nil {
		return problems
	}
	return nil
}

// readPrices reads a price file.
func readPrices(name string) (*PriceList, error) {
	data, err := files.Read(files.Disk{}, name, strict.MostText)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	doc, err := strict.Parse(name, data)
	if err != nil {
		return nil, err
	}
	list := new(PriceList)
	if err := doc.Decode(list); err != nil {
		return nil, err
	}
	if _, err := time.Parse(time.DateOnly, list.Date); err != nil {
		return nil, doc.Problem("date", "found %q; want a day such as 2026-11-22", list.Date)
	}
	for i := range list.Offers {
		if list.Offers[i].Price == 0 {
			return nil, doc.Problem(fmt.Sprintf("offers.%d", i), "has no price")
		}
	}
	if len(list.Offers) == 0 {
		return nil, errors.New(name + ": offers: the list is empty")
	}
	return list, nil
}

// of returns the offers that an entry of the menu stands for. An entry with a price stands for
// itself.
func (l *PriceList) of(entry *Offer, termed bool) []Offer {
	if entry.Price > 0 {
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

func (o *Offer) RentedOn() string { return cmp.Or(o.Term, onDemand) }

// Terms returns the terms of an offer in words, which distinguish it from other offers of the same
// accelerator. They are empty for the only offer of an accelerator if it is on demand.
func (o *Offer) Terms(list []Offer) string {
	if o.RentedOn() == onDemand && !slices.ContainsFunc(list, func(other Offer) bool {
		return other.Accelerator == o.Accelerator && other != *o
	}) {
		return ""
	}
	if o.Region == "" && o.Term == "" {
		return fmt.Sprintf(" at $%g/h", float64(o.Price))
	}
	words := o.RentedOn()
	if o.Region != "" {
		words += " in " + o.Region
	}
	return " " + words + " at " + units.FormatPrice(float64(o.Price))
}
