package candidate

import (
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Prices are those of the servers that fit, each once: of the chosen one first, and of memory that
// costs something.
func TestPricesOfOptions(t *testing.T) {
	server := func(name string, price float64) *Server {
		return &Server{Offer: &asked.Offer{Accelerator: name, Source: "a letter",
			Price: scenarios.Price{Amount: price}}, GPUs: 2, Price: 2 * price}
	}
	a, b, c, unfit := server("a", 3), server("b", 4), server("c", 5), server("d", 6)
	unfit.Unfit = "too small"
	a.Host, a.GiB, a.Disk = 1, 0.5, 0.25
	a.Price += a.Host
	again := *b // of another offer at the same price
	again.Offer = &asked.Offer{}
	*again.Offer = *b.Offer
	options := []*Option{{Parts: &Parts{Prefill: b, Decode: unfit}},
		{Parts: &Parts{Prefill: a, Decode: c}, Standing: &again}, {Parts: &Parts{Prefill: b}}}
	for _, chosen := range []*Option{nil, options[1]} {
		want := []answer.Price{{Accelerator: "b", Hourly: 4},
			{Accelerator: "a GiB of host memory", Hourly: 0.5},
			{Accelerator: "a GiB of disk", Hourly: 0.25}, {Accelerator: "a", Hourly: 3},
			{Accelerator: "c", Hourly: 5}}
		if chosen != nil {
			want = append(want[1:], want[0])
		}
		got := Prices(options, chosen, "")
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i, p := range got {
			source := "a letter"
			if len(p.Accelerator) > 1 {
				source = "menu.memory"
			}
			if p.Accelerator != want[i].Accelerator || p.Hourly != want[i].Hourly ||
				p.Chosen != (chosen != nil) || p.Currency != "USD" || p.Source != source {
				t.Errorf("chosen %v: price %d is %+v, want %+v", chosen != nil, i, p, want[i])
			}
		}
	}
}

// A price without a source is that of a file of accelerators, or of the catalogue.
func TestSourcesOfPrices(t *testing.T) {
	server := &Server{Offer: &asked.Offer{Accelerator: "h100-sxm"}, GPUs: 1, Price: 2}
	l, known := server.Offer.Listed()
	if got := priceOf(server); !known || got.Source != l.Source || got.Date != l.Date ||
		got.Provider != l.Provider || got.Source == "" {
		t.Errorf("%+v, want that of %+v", got, l)
	}
	if server.Offer.File = "own.yaml"; priceOf(server).Source != "own.yaml" {
		t.Errorf("%+v", priceOf(server))
	}
	for _, store := range []string{"host", "nvme"} {
		listed, err := hardware.StorePrice(store)
		testkit.OK(t, err)
		if got := StorePrice("memory", store, listed.Price); got.Source != listed.Source ||
			got.Date != listed.Date || got.Provider != listed.Provider ||
			got.Accelerator != "memory" || got.Hourly != listed.Price {
			t.Errorf("%+v, want %+v", got, listed)
		}
		if got := StorePrice("memory", store, 2*listed.Price); got.Source != "menu.memory" {
			t.Errorf("another price is from %s", got.Source)
		}
	}
}

// A memory is named by its stores and parameters, without its prices.
func TestWordsOfMemory(t *testing.T) {
	price := scenarios.Price{Amount: 3}
	m := scenarios.KVMemory{Policy: "prefix-cache", Price: price, DiskPrice: price,
		PoolPrice: price,
		Tiers:     []scenarios.Tier{{Store: "host", Size: "1GiB", Price: "$1/h"}, {Store: "nvme"}}}
	if got := MemoryWords(m); got != "1GiB host + nvme prefix-cache" {
		t.Errorf("%q", got)
	}
	if got := Unpriced(m); got.Price != (scenarios.Price{}) || got.DiskPrice != got.Price ||
		got.PoolPrice != got.Price || got.Tiers[0].Price != "" || m.Tiers[0].Price == "" {
		t.Errorf("%+v of %+v", got, m)
	}
	m.Policy = ""
	if got := MemoryWords(m); got != "1GiB host + nvme" {
		t.Errorf("%q", got)
	}
	if got := MemoryWords(scenarios.KVMemory{Policy: "paged", Price: price}); got != "paged" {
		t.Errorf("%q", got)
	}
}

// An hour of a server's accelerators draws what they draw at most, whose electricity emits so much.
func TestEmissions(t *testing.T) {
	s := &Server{Offer: &asked.Offer{Carbon: 380}, Peak: 700, Idle: 90}
	if s.Emission() != 266_000 || s.IdlePower() != 90 ||
		(&Option{Parts: &Parts{Prefill: s}, Prefills: 3}).Watts() != 2100 {
		t.Errorf("%g, %g", s.Emission(), s.IdlePower())
	}
}

// Copies for another plan share servers and parts as the options do, and have what is found out of
// them to themselves; where prices change, all else is the same.
func TestCopiesOfOptions(t *testing.T) {
	one, other := &Server{GPUs: 1}, &Server{GPUs: 2}
	both := &Parts{Prefill: one, Decode: other}
	options := []*Option{{Parts: both, Prefills: 1, Scaling: &scaling{Index: 4}},
		{Parts: both, Prefills: 2, Index: 9}, {Parts: &Parts{Prefill: one}}}
	f := &asked.File{}
	copies := Copies(options, f, nil)
	a, b, c := copies[0], copies[1], copies[2]
	if len(copies) != 3 || a.Parts != b.Parts || a.Parts == both || a.Prefill != c.Prefill ||
		a.Prefill == one || a.Prefill.File != f || one.File != nil || a.Decode.GPUs != 2 ||
		c.Decode != nil || a.Scaling == options[0].Scaling || a.Scaling.Index != 4 ||
		b.Scaling != nil || b.Index != 1 || b.Prefills != 2 || options[1].Index != 9 {
		t.Errorf("%+v, %+v, %+v", a, b, c)
	}
	copies = Copies(options, f, func(o *Option) { o.Price = 7 })
	if got := copies[1]; got.Parts != both || got.Price != 7 || options[1].Price != 0 ||
		got.Index != 1 || copies[0].Scaling != options[0].Scaling {
		t.Errorf("%+v", got)
	}
}
