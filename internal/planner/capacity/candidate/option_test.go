package candidate

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
)

// Groups take the accelerators of both kinds, each offer is listed once, and a base takes its own
// once, whatever the number of replicas is.
func TestAcceleratorsOfOptions(t *testing.T) {
	h100, l40s, demand := &asked.Offer{Count: 10}, &asked.Offer{}, &asked.Offer{Count: 5}
	server := func(o *asked.Offer, gpus int) *Server { return &Server{Offer: o, GPUs: gpus} }
	alike := &Option{Parts: &Parts{Prefill: server(h100, 2)}, Prefills: 1}
	same := &Option{Parts: &Parts{Prefill: server(h100, 1), Decode: server(h100, 2)}, Prefills: 2,
		Decodes: 3}
	apart := &Option{Parts: &Parts{Prefill: server(h100, 1), Decode: server(l40s, 4)},
		Prefills: 2, Decodes: 1}
	based := &Option{Parts: &Parts{Prefill: server(h100, 2)}, Prefills: 1, Base: 3,
		Standing: server(demand, 1), Price: 2, Surcharge: 9}
	for _, c := range []struct {
		o       *Option
		offer   *asked.Offer
		n, want int
	}{
		{alike, h100, 0, 0}, {alike, h100, 5, 10}, {same, h100, 3, 24}, {apart, h100, 3, 6},
		{apart, l40s, 3, 12}, {based, h100, 3, 0}, {based, h100, 5, 4}, {based, demand, 5, 3},
		{alike, l40s, 5, 0},
	} {
		if got := c.o.Accelerators(c.offer, c.n); got != c.want {
			t.Errorf("%d replicas take %d, want %d", c.n, got, c.want)
		}
	}
	for want, o := range []*Option{1: alike, 2: apart} {
		if o != nil && len(o.Offers()) != want {
			t.Errorf("%d offers, want %d", len(o.Offers()), want)
		}
	}
	if len(same.Offers()) != 1 || len(based.Offers()) != 2 {
		t.Errorf("%d and %d offers", len(same.Offers()), len(based.Offers()))
	}
	if !alike.Available(5) || alike.Available(6) || alike.Shortest(6) != h100 ||
		!apart.Available(5) || apart.Available(6) || !based.Available(8) || based.Available(9) {
		t.Error("there are 10 accelerators")
	}
	if got := based.Cost(4); got != 17 || based.Affordable(got) != 4 {
		t.Errorf("four replicas cost $%g, for which there are %g", got, based.Affordable(got))
	}
	based.ScalePrice(3)
	if got := based.Cost(4); got != 51 {
		t.Errorf("three times as dear, four cost $%g", got)
	}
}

// Time away is a renewal process: as much of the time as outages have of a mean cycle.
func TestTimeAway(t *testing.T) {
	p := Interruption{Rate: 0.5, Outage: 6, Together: 0.25}
	if got := p.down(p.Rate); math.Abs(got-6.0/8) > 1e-12 {
		t.Errorf("one replica is away for %g of the time", got)
	}
	if got := p.All(); math.Abs(got-6.0/14) > 1e-12 { // one in eight seconds, for six
		t.Errorf("all are away for %g of the time", got)
	}
	for k, c := range []struct{ a, b, want []Outage }{
		{[]Outage{{1, 2}}, nil, []Outage{{1, 2}}},
		{[]Outage{{1, 2}}, []Outage{{2, 3}}, []Outage{{1, 3}}},
		{[]Outage{{1, 9}}, []Outage{{2, 3}}, []Outage{{1, 9}}},
		{[]Outage{{5, 6}}, []Outage{{1, 2}, {5.5, 8}}, []Outage{{1, 2}, {5, 8}}},
	} {
		got := union(c.a, c.b)
		if len(got) != len(c.want) {
			t.Fatalf("case %d: %v, want %v", k, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("case %d: %v, want %v", k, got, c.want)
			}
		}
	}
}
