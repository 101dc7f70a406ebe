package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// Price is the price of an accelerator of the menu and where it is from.
type Price struct {
	Accelerator string `json:"accelerator"`
	// Hourly is the price an hour, in Currency, a code of ISO 4217.
	Hourly   float64 `json:"hourly"`
	Currency string  `json:"currency"`
	Term     string  `json:"term"`
	Region   string  `json:"region,omitempty"`
	// Provider is empty where none is named.
	Provider string `json:"provider,omitempty"`
	// Date is a day, or of the catalogue a year or a month; empty where it is not known.
	Date string `json:"date,omitempty"`
	// Source is empty where none is given.
	Source string `json:"source,omitempty"`
	// Chosen reports whether the chosen fleet has the accelerator at this price.
	Chosen bool `json:"chosen,omitempty"`
}

// words says where a price is from.
func (p *Price) words() string {
	text := p.Accelerator + " " + p.Term
	if p.Term == "on-demand" {
		text = p.Accelerator
	}
	if p.Region != "" {
		text += " in " + p.Region
	}
	text += " at " + units.FormatPrice(p.Hourly, units.Currency(p.Currency)) + ": "
	if p.Provider != "" && !strings.Contains(p.Source, p.Provider) {
		text += p.Provider + ", "
	}
	text += cmp.Or(p.Source, "no source is given")
	switch {
	case p.Date == "":
		text += ", no date is known"
	case !strings.Contains(p.Source, p.Date[:min(len(p.Date), len("2026"))]):
		text += ", of " + p.Date
	}
	return text
}

// mostPrices bounds the prices that a page names.
const mostPrices = 12

// printPrices prints where the prices are from: those of the chosen fleet, or all.
func (a *Answer) printPrices(p *report.Printer, all bool) {
	for i := range a.PricesOf {
		if price := &a.PricesOf[i]; all && i < mostPrices || price.Chosen {
			p.Text("Price of " + price.words())
		}
	}
	if more := len(a.PricesOf) - mostPrices; all && more > 0 {
		p.Text(fmt.Sprintf("The sources of %d more prices are in --format json.", more))
	}
	if all && a.pricesDiffer() {
		p.Text("These prices differ in provider, source or date, so fleets may differ in cost " +
			"for that reason too.")
	}
}

// pricesDiffer reports whether the prices are not all of one provider, source and date.
func (a *Answer) pricesDiffer() bool {
	return slices.ContainsFunc(a.PricesOf, func(price Price) bool {
		first := &a.PricesOf[0]
		return price.Provider != first.Provider || price.Date != first.Date ||
			price.Source != first.Source
	})
}
