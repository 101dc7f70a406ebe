package scenarios

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
)

// amount is a price of a scenario that is not 0, and its field.
type amount struct {
	field string
	money Money
}

// amounts lists the prices of a scenario.
func (s *Scenario) amounts() []amount {
	list := []amount{{"hardware.price", Money(s.Hardware.Price)}}
	list = append(list, s.Memory.amounts("memory.")...)
	for i := range s.Fleet.Pools {
		p, field := &s.Fleet.Pools[i], fmt.Sprintf("fleet.pools.%d.", i)
		list = append(list, amount{field + "hardware.price", Money(p.Hardware.Price)})
		list = append(list, p.Memory.amounts(field+"memory.")...)
	}
	list = append(list, s.Tokens.amounts()...)
	return slices.DeleteFunc(list, func(a amount) bool { return a.money.Amount == 0 })
}

// amounts lists the prices of a memory and its tiers, whose fields begin as given.
func (m *KVMemory) amounts(field string) []amount {
	list := []amount{{field + "price", Money(m.Price)}, {field + "disk-price", Money(m.DiskPrice)},
		{field + "pool-price", Money(m.PoolPrice)}}
	for i := range m.Tiers {
		if price, err := m.Tiers[i].Hourly(); err == nil { // else it is refused where it is taken
			list = append(list, amount{fmt.Sprintf("%stiers.%d.price", field, i), Money(price)})
		}
	}
	return list
}

// amounts lists prices of tokens, of which there may be none.
func (p *TokenPrices) amounts() []amount {
	if p == nil {
		return nil
	}
	list := []amount{{"tokens.input", Money(p.Input)}, {"tokens.output", Money(p.Output)}}
	if p.Cached != nil {
		list = append(list, amount{"tokens.cached-input", Money(*p.Cached)})
	}
	return list
}

// Currency returns the currency of the prices of a scenario that was built, which have only one.
func (s *Scenario) Currency() units.Currency {
	for _, a := range s.amounts() {
		return a.money.Currency
	}
	return ""
}

// checkCurrency refuses prices in several currencies: amounts in two of them cannot be added, and
// no rate of exchange is known. Prices of the catalogue are in US dollars.
func (r *resolved) checkCurrency(s *Scenario, pools []pool) {
	list := s.amounts()
	for i := range pools {
		p := &pools[i]
		if p.draftAccelerators() > 0 && p.drafting.accelerator.Price > 0 {
			list = append(list, amount{"speculation.accelerator",
				Money{Amount: p.drafting.accelerator.Price}})
		}
	}
	for _, a := range list {
		first := list[0]
		if a.money.Currency == first.money.Currency {
			continue
		}
		r.problem(a.field, "the price is in %s, and that of %s in %s; a run has one currency, so "+
			"convert one of them (prices of the catalogue are in USD)", a.money.Currency.Code(),
			first.field, first.money.Currency.Code())
		return
	}
}
