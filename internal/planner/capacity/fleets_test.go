package capacity

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/mixed"
	"github.com/llmsim/llmsim/internal/testkit"
)

// stock is what a service has to choose from: two kinds of accelerators, few of each.
type stock struct {
	rate   float64
	counts [2]int
	price  float64 // of the second kind, $/h
}

func drawStock() *rapid.Generator[stock] {
	return rapid.Custom(func(t *rapid.T) stock {
		return stock{rapid.Float64Range(60, 260).Draw(t, "rate"),
			[2]int{rapid.IntRange(1, 3).Draw(t, "h100"), rapid.IntRange(1, 4).Draw(t, "a100")},
			rapid.Float64Range(0.4, 1.4).Draw(t, "price")}
	})
}

// The mixed fleet of a small stock is the cheapest of all that keep the SLO when every number of
// both kinds is simulated, and none is told where none costs less than one kind.
func TestMixedFleets(t *testing.T) {
	stocks, saved := []int{0, 1, 2, 3, 4, 5}, 0
	if testing.Short() {
		stocks = testkit.DrawCases(t, 2, stocks)
	}
	for _, k := range stocks {
		drawn := drawStock().Example(k)
		s, _ := prepared(t, fmt.Sprintf(`
model: llama-3.1-8b
workload: {rate: %.4g/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms}
menu:
  tensor: [1]
  hardware:
    - {accelerator: h100-sxm, count: %d, price: $3/h}
    - {accelerator: a100-80gb-sxm, count: %d, price: $%.2f/h}
    - {accelerator: h200-sxm, price: $9/h}
effort: {requests: 200, most-requests: 400}
`, drawn.rate, drawn.counts[0], drawn.counts[1], drawn.price))
		if err := s.answer(context.Background()); err != nil || s.best < 0 {
			t.Fatal("no answer", err)
		}
		shapes, _, err := s.shapes(context.Background())
		testkit.OK(t, err)
		found, err := (&mixed.Search{Fleet: *s.fleet(), Options: s.options}).Cheapest(
			context.Background(), shapes)
		testkit.OK(t, err)
		got := s.cost()
		if found != nil {
			got = found.Hourly
			saved++
		}
		if want := cheapestMix(t, s); got != want {
			t.Errorf("%+v: %+v for $%g/h, the cheapest fleet of two kinds or one costs $%g/h",
				drawn, found, got, want)
		}
	}
	if !testing.Short() && (saved == 0 || saved == len(stocks)) {
		t.Errorf("%d of %d stocks have a mixed fleet that costs less", saved, len(stocks))
	}
}

// cheapestMix returns the least price of a fleet of two kinds that keeps the SLO, or that of the
// answer where none costs less.
func cheapestMix(t *testing.T, s *search) float64 {
	t.Helper()
	plan, least := &s.Trials.File.Plan, s.cost()
	for i, a := range s.options {
		for _, b := range s.options[i+1:] {
			for n := 1; a.Available(n) && float64(n)*a.Price < least; n++ {
				for m := 1; b.Available(m); m++ {
					cost := float64(n)*a.Price + float64(m)*b.Price
					if cost >= least*(1-1e-9) {
						break
					}
					fleet := &mixed.Pair{Mixed: answer.Mixed{Replicas: [2]int{n, m}},
						Options: [2]*candidate.Option{a, b}}
					got, err := s.Trials.Trial(context.Background(),
						fleet.Scenario(&plan.Menu, fleet.Replicas), s.Rate,
						plan.Together(s.Rate, n+m))
					testkit.OK(t, err)
					if got.Keeps() {
						least = cost
					}
				}
			}
		}
	}
	return least
}
