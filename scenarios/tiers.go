package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/policies"
)

// tierParam is the parameter of a memory policy for which a key of a tier stands.
type tierParam struct{ store, key, param string }

func tierParams() []tierParam {
	return []tierParam{{"host", "size", "cpu"}, {"nvme", "size", "disk"},
		{"nvme", "rate", "disk-rate"}, {"pool", "size", "pool"}, {"pool", "rate", "pool-rate"},
		{"pool", "link", "pool-link"}}
}

// value returns what a tier has for a key.
func (t *Tier) value(key string) string {
	switch key {
	case "size":
		return t.Size
	case "rate":
		return t.Rate
	case "link":
		return t.Link
	case "price":
		return t.Price
	default:
		return t.Shared
	}
}

// tierField returns the key of a tier for a parameter of the memory policy, "" if no tier sets it.
func (m *KVMemory) tierField(field string) string {
	for _, p := range tierParams() {
		i := slices.IndexFunc(m.Tiers, func(t Tier) bool { return t.Store == p.store })
		if i >= 0 && field == "memory."+p.param && m.Tiers[i].value(p.key) != "" {
			return fmt.Sprintf("memory.tiers.%d.%s", i, p.key)
		}
	}
	return ""
}

// replaceTiers replaces the tiers by the parameters of the memory policy, and notes what cannot be.
// A tier that is not listed has no size.
func (m *KVMemory) replaceTiers(problem func(field, format string, args ...any)) {
	tiers := m.Tiers
	if len(tiers) == 0 || !checkTiers(tiers, problem) {
		return
	}
	if m.Policy == "" && len(tiers) > 1 {
		m.Policy = "offload"
	}
	m.Tiers = nil
	m.setTierPrices(tiers, problem)
	switch offloads := policies.Offloads(m.Policy); {
	case offloads && len(tiers) == 1:
		problem("memory.tiers", "%s keeps KV caches below the accelerators; add {store: host, "+
			"size: 512GiB} or use prefix-cache", m.Policy)
	case !offloads && len(tiers) > 1:
		problem("memory.policy", "found %s, which has no tiers below the accelerators; use offload",
			m.Policy)
	case offloads:
		params := map[string]string{"disk": "0B", "pool": "0B"}
		for _, p := range tierParams() {
			if _, twice := m.Params[p.param]; twice {
				problem("memory."+p.param, "memory.tiers has the tiers already; set the %s of its "+
					"%s there, or leave one of the two out", p.key, p.store)
			}
			for i := range tiers {
				if value := tiers[i].value(p.key); tiers[i].Store == p.store && value != "" {
					params[p.param] = value
				}
			}
		}
		maps.Copy(params, m.Params)
		m.Params = params
	}
}

// setTierPrices sets the prices that tiers have.
func (m *KVMemory) setTierPrices(tiers []Tier, problem func(field, format string, args ...any)) {
	prices := map[string]*Price{"host": &m.Price, "nvme": &m.DiskPrice, "pool": &m.PoolPrice}
	for i := range tiers {
		t, field := &tiers[i], fmt.Sprintf("memory.tiers.%d.price", i)
		if t.Price == "" {
			continue
		}
		to := prices[t.Store]
		if to.Amount != 0 {
			problem(field, "found %s, and a price of %s beside the tiers; leave one of the two out",
				t.Price, Money(*to).Text())
		}
		price, err := t.Hourly()
		if err != nil {
			problem(field, "%v", err)
		}
		*to = price
	}
}

// Hourly returns the price of a GiB of the tier, 0 if it has no price: the one that is written, or
// the catalogue's.
func (t *Tier) Hourly() (price Price, err error) {
	switch t.Price {
	case "":
		return price, nil
	case "listed":
		listed, err := hardware.StorePrice(t.Store)
		return Price{Amount: listed.Price}, err
	}
	if err := price.UnmarshalText([]byte(t.Price)); err != nil || price.Amount <= 0 {
		return Price{}, fmt.Errorf("found %s, want a price above 0 such as $0.0034/h, or listed",
			t.Price)
	}
	return price, nil
}

// checkTiers reports whether the tiers are in order and have the keys that they need, and no other.
func checkTiers(tiers []Tier, problem func(field, format string, args ...any)) bool {
	stand := true
	refuse := func(field, format string, args ...any) {
		problem(field, format, args...)
		stand = false
	}
	order := []string{"hbm", "host", "nvme", "pool"}
	last := -1
	for i := range tiers {
		t, place := &tiers[i], fmt.Sprintf("memory.tiers.%d", i)
		at := slices.Index(order, t.Store)
		switch {
		case i == 0 && at != 0:
			refuse(place+".store", "found %s, want hbm, where KV caches are computed", t.Store)
		case i == 1 && at > 1:
			refuse(place+".store", "found %s; what leaves the accelerators goes to host memory, "+
				"so put {store: host, size: 64GiB} before it", t.Store)
		case at <= last:
			refuse(place+".store", "found %s after %s; want each store once, in the order %s",
				t.Store, order[last], strings.Join(order, ", "))
		}
		last = max(last, at)
		for _, key := range []string{"size", "rate", "link", "price", "shared"} {
			takes := slices.ContainsFunc(tierParams(), func(p tierParam) bool {
				return p.store == t.Store && p.key == key
			}) || key == "shared" && t.Store == "pool" || key == "price" && t.Store != "hbm"
			switch value := t.value(key); {
			case value != "" && !takes:
				refuse(place+"."+key, "found %s, but %s has no %s that is set here; leave it out",
					value, t.Store, key)
			case value == "" && takes && key == "size":
				refuse(place, "%s needs a size, such as 512GiB", t.Store)
			}
		}
	}
	return stand
}
