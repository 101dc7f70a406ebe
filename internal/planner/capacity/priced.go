package capacity

import (
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
)

// pricesOf lists the prices of all servers that can be built, with their sources, those of the
// chosen fleet first. It names each offer once.
func (s *search) pricesOf() []answer.Price {
	var list []answer.Price
	known := map[*menu.Offer]bool{}
	add := func(o *candidate.Option, chosen bool) {
		for _, server := range []*candidate.Server{o.Prefill, o.Decode, o.Standing} {
			if server == nil || server.Unfit != "" {
				continue
			}
			if server.GiB > 0 {
				price := candidate.StorePrice("a GiB of host memory", "host", server.GiB)
				price.Currency = s.Currency().Code()
				list = addPrice(list, price, chosen)
			}
			if server.Disk > 0 {
				price := candidate.StorePrice("a GiB of disk", "nvme", server.Disk)
				price.Currency = s.Currency().Code()
				list = addPrice(list, price, chosen)
			}
			if !known[server.Offer] {
				known[server.Offer] = true
				list = addPrice(list, priceOf(server), chosen)
			}
		}
	}
	if s.best >= 0 {
		add(s.chosen(), true)
	}
	for _, o := range s.options {
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
func priceOf(s *candidate.Server) answer.Price {
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
