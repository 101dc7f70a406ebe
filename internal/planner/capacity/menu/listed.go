package menu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// listed returns the rows of the catalogue's table of prices for an accelerator by any of its names.
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

// List sets the prices of the accelerators of the menu that name a provider and have no price: those
// of the catalogue's table.
func (p *Plan) List(doc *strict.Document) error {
	for field, offers := range p.offers() {
		for i := range *offers {
			o := &(*offers)[i]
			if o.Price > 0 || o.File != "" {
				continue
			}
			l, known := o.Listed()
			if o.Provider == "" {
				o.listed = l.Provider
				continue
			}
			if !known {
				return doc.Problem(fmt.Sprintf("%s.%d.provider", field, i), "the catalogue has no "+
					"price of %s: %s; give one, such as price: $2/h",
					strings.TrimSpace(o.Accelerator+" "+o.Region), o.providers())
			}
			o.Price, o.Date, o.Source = scenarios.Price(l.Price), l.Date, l.Source
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
