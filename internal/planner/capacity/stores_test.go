package capacity

import (
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/scenarios"
)

// A choice of tiers is named by its stores, without prices, and trials of it that differ in prices
// alone are the same.
func TestTiersAreNamedWithoutPrices(t *testing.T) {
	priced := func(price string) scenarios.KVMemory {
		return scenarios.KVMemory{
			DiskPrice: scenarios.Price{Amount: 1},
			Params:    map[string]string{"prefetch": "arrival"},
			Tiers: []scenarios.Tier{{Store: "hbm"}, {Store: "host", Size: "1GiB", Price: price},
				{Store: "nvme", Size: "2TB"}},
		}
	}
	const want = "hbm + 1GiB host + 2TB nvme prefetch:arrival"
	for _, price := range []string{"", "listed", "$1/h"} {
		m := priced(price)
		if got := candidate.MemoryWords(m); got != want || m.Tiers[1].Price != price {
			t.Errorf("%q: %s, want %s; the price is %q afterwards", price, got, want,
				m.Tiers[1].Price)
		}
		if u := candidate.Unpriced(m); u.DiskPrice.Amount != 0 || u.Tiers[1].Price != "" ||
			u.Tiers[1].Size != "1GiB" {
			t.Errorf("%q: %+v", price, u)
		}
	}
}
