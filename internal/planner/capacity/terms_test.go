package capacity

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

func priceFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.yaml")
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// A price file gives an accelerator all its offers, those of a term or a region where the menu
// names one, and none where the menu has a price; the answer names its date.
func TestPriceFile(t *testing.T) {
	path := priceFile(t, `
date: 2026-11-20
offers:
  - {accelerator: h100-sxm, region: us-east, price: $3/h, carbon: 380g/kWh}
  - {accelerator: h100-sxm, region: us-east, term: reserved, price: $2/h}
  - {accelerator: h100-sxm, region: eu-north, term: spot, price: $1/h, interruptions: 0.05/h, return: 10m}
  - {accelerator: l4, price: $0.5/h}
`)
	const head = "model: llama-3.1-8b\nworkload: {rate: 20/s}\nmenu: {hardware: "
	for menu, want := range map[string]string{
		"[h100-sxm, l4]": "[3 2 1 0.5]",
		"[{accelerator: h100-sxm, term: on-demand}]": "[3]",
		"[{accelerator: h100-sxm, region: us-east}]": "[3 2]",
		"[{accelerator: h100-sxm, price: $9/h}, l4]": "[9 0.5]",
		"[{accelerator: h100-sxm, term: spot, " +
			"interruptions: 1/h, return: 1m, count: 4}]": "[1]",
	} {
		f, err := asked.Parse("plan.yaml", []byte(head+menu+"}\nprices: "+path))
		if err != nil {
			t.Errorf("%s: %v", menu, err)
			continue
		}
		var got []float64
		for _, o := range f.Plan.Menu.Hardware {
			got = append(got, o.Price.Amount)
		}
		if fmt.Sprint(got) != want || !strings.Contains(f.Plan.PricesFrom(), "of 2026-11-20") {
			t.Errorf("%s: prices %v of %q, want %s", menu, got, f.Plan.PricesFrom(), want)
		}
	}
	for menu, want := range map[string]string{
		"[h100-sxn]": "did you mean h100-sxm",
		"[{accelerator: h100-sxm, region: mars}]":         `unknown offer "mars"; known: on-demand`,
		"[{accelerator: h100-sxm, term: spots}]":          "did you mean spot",
		"[{accelerator: h100-sxm, interruptions: 1/h}]":   "interruptions",
		"[{accelerator: h100-sxm, term: spot, price: 3}]": "a price an hour",
		"[{accelerator: h100-sxm, carbon: 3}]":            "380g/kWh",
	} {
		if _, err := asked.Parse("plan.yaml", []byte(head+menu+"}\nprices: "+path)); err == nil ||
			!scenarios.IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", menu, err, want)
		}
	}
	for text, want := range map[string]string{
		"offers: [{accelerator: l4, price: $1/h}]":                   "date: must be given",
		"date: yesterday\noffers: [{accelerator: l4, price: $1/h}]":  "want a day",
		"date: 2026-11-20\noffers: [{accelerator: l4}]":              "has no price",
		"date: 2026-11-20\noffers: [{accelerator: l4, prize: $1/h}]": "did you mean price",
	} {
		_, err := asked.Parse("plan.yaml", []byte(head+"[l4]}\nprices: "+priceFile(t, text)))
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// A fleet has accelerators of one provider, unless the plan mixes providers, and the answer names
// where each price is from, each once, those of its fleet first.
func TestProvidersAreNotMixed(t *testing.T) {
	path := priceFile(t, `
date: 2026-11-20
source: made up
offers:
  - {accelerator: h100-sxm, provider: acme, price: $3/h}
  - {accelerator: l40s, provider: acme, price: $1.5/h, date: 2026-10-01, source: a letter}
  - {accelerator: l40s, provider: other, price: $1/h}
`)
	for mix, want := range map[string]int{"false": 2, "true": 4} {
		s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 1/s, prompt: 100, output: 20}
prices: `+path+`
mix-providers: `+mix+`
menu:
  hardware: [h100-sxm]
  tensor: [1]
  disaggregated:
    - {prefill: {replicas: 1, hardware: [h100-sxm]}, decode: {replicas: 1..2, hardware: [l40s]}}
`)
		if got := len(s.options) - 1; got != want {
			t.Errorf("mix-providers %s: %d groups of replicas, want %d", mix, got, want)
		}
		if mix == "false" {
			s.best, s.outcomes = 1, []outcome{{}, {kind: chosen, replicas: 1}}
			want := []answer.Price{
				{Accelerator: "h100-sxm", Hourly: 3, Currency: "USD", Term: "on-demand",
					Provider: "acme", Date: "2026-11-20", Source: "made up", Chosen: true},
				{Accelerator: "l40s", Hourly: 1.5, Currency: "USD", Term: "on-demand",
					Provider: "acme", Date: "2026-10-01", Source: "a letter", Chosen: true},
			}
			if got := candidate.Prices(s.options, s.chosen(), s.Currency()); !slices.Equal(got,
				want) {
				t.Errorf("prices %+v, want %+v", got, want)
			}
		}
	}
}

// A price of the catalogue is a row of its table: the first, or that of the provider that the menu
// names. What the table does not have is refused.
func TestCataloguePricesHaveSources(t *testing.T) {
	const text = "model: llama-3.1-8b\nworkload: {rate: 1/s, prompt: 100, output: 20}\n" +
		"menu: {hardware: [h100-sxm, {accelerator: H100-SXM, provider: %s}], tensor: [1]}\n"
	s, _ := prepared(t, fmt.Sprintf(text, "AWS"))
	s.best = -1
	rows, err := hardware.Listings()
	testkit.OK(t, err)
	var providers []string
	for _, p := range candidate.Prices(s.options, nil, s.Currency()) {
		providers = append(providers, p.Provider)
		if !slices.ContainsFunc(rows, func(l hardware.Listing) bool {
			return l.Accelerator == "h100-sxm" && p.Source == l.Source && p.Date == l.Date &&
				p.Provider == l.Provider && p.Hourly == l.Price
		}) {
			t.Errorf("%+v is not in the table", p)
		}
	}
	if !slices.Equal(providers, []string{"Lambda", "AWS"}) {
		t.Errorf("prices of %v", providers)
	}
	_, err = asked.Parse("plan.yaml", fmt.Appendf(nil, text, "Lambdaa"))
	if err == nil || !strings.Contains(err.Error(), "plan.yaml:3: menu.hardware.1.provider") ||
		!strings.Contains(err.Error(), "did you mean Lambda") {
		t.Errorf("error %v", err)
	}
}

// The share of requests that keep the SLO while replicas are preempted at random is at least what
// is reckoned from how many are away, but for chance, and not far above.
func TestSpotIsAsReckoned(t *testing.T) {
	both := []bool{false, true}
	if testing.Short() {
		both = testkit.DrawCases(t, 1, both)
	}
	for _, groups := range both {
		s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 18/s, prompt: 300, output: 40}
slo: {ttft: 2s, tpot: 150ms, percentile: 90}
menu:
  hardware: [{accelerator: l4, term: spot, interruptions: 6/h, notice: 20s, return: 80s}]
  tensor: [1]
  disaggregated: [{prefill: 1, decode: 1}]
effort: {requests: 1000, most-requests: 2000}
`)
		n := 3
		if groups {
			s.options, n = s.options[1:], 2
		}
		s.options = s.options[:1]
		s.best, s.outcomes = 0, []outcome{{kind: chosen, replicas: n}}
		seen, err := s.fleet().Interrupt(context.Background())
		testkit.OK(t, err)
		p, _ := s.chosen().Interrupted()
		want := float64(n) * p.Rate * 3600 * seen.Hours / (1 + p.Rate*p.Outage)
		if k := float64(seen.Interruptions); k < 10 || math.Abs(k-want) > 4*math.Sqrt(want) {
			t.Errorf("%g interruptions in %g h, want about %g", k, seen.Hours, want)
		}
		reckoned, err := s.KeepsOnSpot(t.Context(), s.chosen(), n, s.Rate,
			candidate.AsPredicted(), 0)
		testkit.OK(t, err)
		long := reckoned.Kept.Mean
		if seen.Kept < long-0.05 || seen.Kept > long+0.4 || seen.Kept > 0.99 {
			t.Errorf("groups %v: simulated %g, in the long run %g", groups, seen.Kept, long)
		}
	}
}

// Probabilities of how many replicas are away add up to one, and have the mean of the binomial
// distribution.
func TestBinomial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, p := rapid.IntRange(1, 300).Draw(t, "n"), rapid.Float64Range(0, 0.999).Draw(t, "p")
		sum, mean := 0.0, 0.0
		for k := range n + 1 {
			sum += judge.Binomial(n, k, p)
			mean += float64(k) * judge.Binomial(n, k, p)
		}
		if math.Abs(sum-1) > 1e-9 || math.Abs(mean-float64(n)*p) > 1e-6 {
			t.Fatalf("sum %g, mean %g, want 1 and %g", sum, mean, float64(n)*p)
		}
	})
}

// A spot fleet with one replica more keeps the SLO of no fewer requests in the long run: of the
// requests under way, those of one replica are lost when it goes, however many there are.
func TestMoreSpotReplicasKeepMore(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 25/s, prompt: 600, output: 150}
slo: {ttft: 1s, tpot: 60ms}
menu:
  hardware: [{accelerator: l40s, term: spot, interruptions: 0.3/h, notice: 30s, return: 20m}]
  tensor: [1]
effort: {requests: 300, most-requests: 600}
`)
	before := 0.0
	for _, n := range []int{4, 5, 6, 8, 16, 64} {
		v, err := s.KeepsOnSpot(context.Background(), s.options[0], n, s.Rate,
			candidate.AsPredicted(), 0)
		testkit.OK(t, err)
		if v.Kept.Mean < before-1e-3 {
			t.Errorf("%d replicas keep the SLO of %g of the requests, fewer of %g", n, v.Kept.Mean,
				before)
		}
		before = v.Kept.Mean
	}
	// A request takes about 3 s, in which its replica is preempted in 0.03 % of cases.
	if before < 0.999 {
		t.Errorf("64 replicas keep the SLO of %g of the requests, want nearly all", before)
	}
}

// A spot replica sustains no less with earlier latencies than with the ones that decide, and no
// more with later ones, although short runs with other errors may show so by chance. Else a chance
// may say that the fleet of the answer misses the SLO where latencies are typical.
func TestChancesOfSpotAgreeWithTheDecision(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload:
  rate: 200/s
  prompt: {distribution: lognormal, mean: 800, cv: 1, max: 30000}
  output: {distribution: lognormal, mean: 250, cv: 0.8, max: 1500}
slo: {ttft: 1s, tpot: 50ms}
menu:
  hardware: [{accelerator: h100-sxm, term: spot, interruptions: 0.1/h, return: 15m}]
  tensor: [1]
effort: {requests: 500, most-requests: 2000}
`)
	o := s.options[0]
	decided, err := s.Alone(t.Context(), o, o.Worst(), 1)
	testkit.OK(t, err)
	for _, confidence := range []float64{0.5, 0.7, 0.98} {
		rate, err := s.Alone(t.Context(), o, o.Physics.Worst(confidence), 1)
		testkit.OK(t, err)
		if earlier := confidence < 0.95; earlier && rate < decided || !earlier && rate > decided {
			t.Errorf("%.2f/s with latencies of %g, %.2f/s with those that decide", rate,
				confidence, decided)
		}
	}
}
