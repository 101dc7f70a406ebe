package candidate

import (
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/scenarios"
)

// Unpriced returns a memory without its prices.
func Unpriced(m scenarios.KVMemory) scenarios.KVMemory {
	none := scenarios.Price{}
	m.Price, m.DiskPrice, m.PoolPrice = none, none, none
	m.Tiers = slices.Clone(m.Tiers)
	for i := range m.Tiers {
		m.Tiers[i].Price = ""
	}
	return m
}

// StorePrice says where the price of a GiB of a store is from: the catalogue, if it is listed
// there, or else the plan.
func StorePrice(name, store string, hourly float64) answer.Price {
	price := answer.Price{Accelerator: name, Hourly: hourly, Term: "on-demand",
		Source: "menu.memory"}
	if l, err := hardware.StorePrice(store); err == nil && l.Price == hourly {
		price.Source, price.Date, price.Provider = l.Source, l.Date, l.Provider
	}
	return price
}
