package answer

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// The page of an answer draws each curve that the answer has, under a sentence about it, and tells
// where another kind is cheaper.
func TestPagesOfAnswers(t *testing.T) {
	curve := []LoadPoint{{5, 0, 0, 1, true, 100, 20}, {10, 0, 0, 0.995, true, 200, 30},
		{15, 0, 0, 0.5, false, 9000, 80}}
	price := func(label string, prices ...float64) PriceCurve {
		c := PriceCurve{Label: label}
		for i, p := range prices {
			c.Points = append(c.Points, PricePoint{float64(5 * (i + 1)), 0, i + 1, p})
		}
		return c
	}
	a := &Answer{Model: "m", Rate: 10, SLO: scenarios.SLO{Percentile: 99},
		Chosen:      &Deployment{Label: "x", Hourly: 7, Kept: 0.995, Curve: curve},
		PriceCurves: []PriceCurve{price("x", 6, 7, 8), price("y", 5, 7, 9)},
		Pruned:      []Pruned{{"costs more", 3, "z"}},
		Horizon: &Horizon{Months: 2, Kinds: []HorizonKind{{"x", []int{1, 2}, 9}},
			Rentals: []Rental{{"x", 1, 1, 1, 2, 9, 1, ""}}, Cost: 9}}
	page := func(pictures int, want ...string) {
		t.Helper()
		var out bytes.Buffer
		testkit.OK(t, (&Answers{Models: []*Answer{a}}).Page(&out))
		if n := strings.Count(out.String(), "<svg"); n != pictures {
			t.Errorf("%d pictures, want %d", n, pictures)
		}
		says(t, out.String(), want...)
	}
	page(5, "The fleet meets the SLO up to 10/s<", "p99 TTFT goes from 100 to 9,000 ms",
		"The cheapest kind depends on the load", "meets the SLO at 10/s, and not at the next load",
		"TTFT goes from 100 to 9,000 ms",
		"Cheaper are: y at 5/s.", "Over 2 months the cheapest schedule costs $9",
		"The rent goes from $5 in the first month to $5 in the last", "3 not simulated: costs more")
	h := &Horizon{Months: 3, Rentals: []Rental{{"x", 1, 4, 1, 4, 8, 1, ""},
		{"y", 2, 1, 2, 3, 6, 1, ""}}}
	if all, y := h.paid(""), h.paid("y"); !slices.Equal(all, []float64{2, 5, 5, 2}) ||
		!slices.Equal(y, []float64{0, 3, 3, 0}) {
		t.Errorf("the rents are %v, of y %v", all, y)
	}
	for i := range curve {
		curve[i].Met = false
	}
	page(5, "At no load does the fleet meet the SLO",
		"At no load that was simulated, from 5/s, does the fleet meet the SLO.")
	for i := range curve {
		curve[i].Met = true
	}
	page(5, "up to 15/s, the highest load simulated",
		"meets the SLO at 15/s, the highest of the loads that were simulated")
	a.PriceCurves[1] = price("y", 7, 8, 9)
	a.Chosen.Curve, a.Horizon = nil, nil
	page(1, "At each load, the cheapest are x",
		"No other of these kinds is cheaper at any of the loads.", "no: TTFT goes")
	a.PriceCurves = a.PriceCurves[:1]
	page(1, "Price of x", "no: cheaper")
	a.PriceCurves = nil
	page(0)
	a.Chosen.Users, a.Chosen.Curve = 200, []LoadPoint{{0, 100, 0, 1, true, 100, 20},
		{0, 200, 0, 0.995, true, 200, 30}, {0, 300, 0, 0.5, false, 9000, 80}}
	page(2, "The fleet meets the SLO up to 200 users<", ">users<",
		"and not at the next load that was simulated; the load is 200 users.",
		"From 100 users to 300 users", "no: requests/s")
	a.PriceCurves = []PriceCurve{{"x", []PricePoint{{0, 100, 1, 5}, {0, 200, 2, 7}}},
		{"y", []PricePoint{{0, 100, 1, 4}, {0, 200, 3, 9}}}}
	page(3, "The cheapest kind depends on the load", "Cheaper are: y at 100 users.",
		"no: requests/s")
	a.PriceCurves, a.Chosen.Users = nil, 0
	a.Chosen.Curve = []LoadPoint{{0, 0, 0.5, 1, true, 100, 20}, {0, 0, 1, 0.5, false, 300, 30}}
	page(2, "The fleet meets the SLO up to 50% of the load<", ">load (% of the asked one)<",
		"and not at the next load that was simulated.", "no: requests/s")
	a.Chosen.Curve = nil
	a.Jobs = []JobDone{{Hours: 3, Dollars: 12}, {Hours: 2, Dollars: 20}}
	page(1, "The cheapest fleet does the job for $12.00<", ">hours until it is done<",
		"in 3 hours for $12.00, with slow steps")
}
