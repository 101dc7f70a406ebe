package candidate

import (
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Prices lists the prices of all servers that can be built of some options, with their sources, the
// chosen option's first; chosen may be nil. It names each offer once.
func Prices(options []*Option, chosen *Option, currency units.Currency) []answer.Price {
	var list []answer.Price
	known := map[*asked.Offer]bool{}
	add := func(o *Option, chosen bool) {
		for _, server := range []*Server{o.Prefill, o.Decode, o.Standing} {
			if server == nil || server.Unfit != "" {
				continue
			}
			if server.GiB > 0 {
				price := StorePrice("a GiB of host memory", "host", server.GiB)
				price.Currency = currency.Code()
				list = addPrice(list, price, chosen)
			}
			if server.Disk > 0 {
				price := StorePrice("a GiB of disk", "nvme", server.Disk)
				price.Currency = currency.Code()
				list = addPrice(list, price, chosen)
			}
			if !known[server.Offer] {
				known[server.Offer] = true
				list = addPrice(list, priceOf(server), chosen)
			}
		}
	}
	if chosen != nil {
		add(chosen, true)
	}
	for _, o := range options {
		add(o, false)
	}
	return list
}

// addPrice adds a price that is not in the list.
func addPrice(list []answer.Price, price answer.Price, chosen bool) []answer.Price {
	same := func(other answer.Price) bool {
		other.Chosen = false
		return other == price
	}
	if slices.ContainsFunc(list, same) {
		return list
	}
	price.Chosen = chosen
	return append(list, price)
}

// priceOf says where the price of a server's accelerators is from: what was bought, the price file
// or the plan, or else the catalogue, whose sources have the year.
func priceOf(s *Server) answer.Price {
	o := s.Offer
	price := answer.Price{Accelerator: o.Accelerator, Hourly: (s.Price - s.Host) / float64(s.GPUs),
		Currency: o.Price.Currency.Code(), Term: o.RentedOn(), Region: o.Region,
		Provider: o.Provider, Date: o.Date, Source: o.PriceSource()}
	switch {
	case price.Source != "":
	case o.File != "":
		price.Source = o.File
	default:
		if l, known := o.Listed(); known {
			price.Source, price.Date, price.Provider = l.Source, l.Date, l.Provider
		}
	}
	return price
}

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
