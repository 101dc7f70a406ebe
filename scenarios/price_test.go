package scenarios

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// runShipped runs ten minutes of a shipped scenario.
func runShipped(t *testing.T, set ...string) *Result {
	t.Helper()
	f, err := Load("playground", append(set, "workload.duration=10m")...)
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	return r
}

// Results that are priced alike have one denominator. If it is the whole run, the price of a token
// times the tokens a second is the price of a second, so that at equal flows prices are in the
// proportion of the prices of an hour. Results that all keep up stay priced at the offered rate.
func TestResultsArePricedAlike(t *testing.T) {
	quick := runShipped(t, "workload.rate=0.01/s", "hardware=a100-80gb-sxm")
	busier := runShipped(t, "workload.rate=0.1/s", "hardware=a100-80gb-sxm")
	slow := runShipped(t, "workload.rate=0.01/s", "hardware=desktop-50gbs")
	if PriceAlike(quick, busier); quick.PricedOver != OfferedRate ||
		busier.PricedOver != OfferedRate {
		t.Fatalf("two results that keep up are priced %s and %s", quick.PricedOver,
			busier.PricedOver)
	}
	PriceAlike(quick, busier, slow)
	for _, r := range []*Result{quick, busier, slow} {
		flow := float64(r.TotalOutputTokens) / r.Duration
		if hourly := r.CostPerMillion * flow * 3600 / 1e6; r.PricedOver != wholeRun ||
			math.Abs(hourly-r.Cost/r.Duration*3600) > 1e-9*hourly {
			t.Errorf("%s: %g a million tokens at %g/s, and %g an hour, priced %s", r.Setup,
				r.CostPerMillion, flow, r.Cost/r.Duration*3600, r.PricedOver)
		}
	}
}

// The prices of tokens add up to the price of the fleet, whatever its pools and tiers. A cached
// token costs less than one that is computed, and more where it comes from host memory.
func TestTokenCosts(t *testing.T) {
	load := "workload: {requests: 200, rate: 4/s, prompt: 2000, output: 40, sessions: " +
		"{turns: 5, think: 2s}}\n"
	server := "model: llama-3.1-8b\nhardware: h100-sxm\n"
	pools := "model: llama-3.1-8b\nfleet: {transfer: infiniband-hdr, pools: [{role: prefill, " +
		"hardware: h100-sxm, replicas: 2}, {role: decode, hardware: h200-sxm, replicas: 1}]}\n"
	costs := map[string]*Result{}
	for name, text := range map[string]string{
		"none":  server + "memory: paged\n" + load,
		"near":  server + "memory: {policy: prefix-cache, tokens: 400000}\n" + load,
		"host":  server + "memory: {policy: offload, tokens: 50000, cpu: 1TiB}\n" + load,
		"apart": pools + load,
	} {
		r := run(t, presetScenario(t, text))
		costs[name] = r
		c, n := r.TokenCosts, CountTokens(&r.Summary)
		if c == nil {
			t.Fatalf("%s: no prices", name)
		}
		sum := (c.Input*float64(n.Input-n.Cached) + c.Cached*float64(n.Cached) +
			c.Output*float64(n.Output)) / 1e6
		if math.Abs(sum/r.Cost-1) > 1e-9 {
			t.Errorf("%s: tokens cost $%v, the fleet $%v", name, sum, r.Cost)
		}
		if n.Cached > 0 && !(0 < c.Cached && c.Cached < c.Input) {
			t.Errorf("%s: a cached token costs %v, another %v", name, c.Cached, c.Input)
		}
	}
	if n := CountTokens(&costs["near"].Summary); n.Cached == 0 {
		t.Error("nothing is cached")
	}
	near, host := costs["near"].TokenCosts, costs["host"].TokenCosts
	if host.Cached <= near.Cached || costs["none"].TokenCosts.Cached != 0 {
		t.Errorf("cached tokens cost %v from host memory, %v from the accelerator, %v without "+
			"a cache", host.Cached, near.Cached, costs["none"].TokenCosts.Cached)
	}
}

// sale is a scenario whose requests share a prefix of 2,000 tokens, and have 100 of their own. One
// is answered before the next comes.
const sale = `
model: llama-3.1-8b
hardware: {accelerator: h100-sxm, price: $3/h}
memory: prefix-cache
workload: {rate: 1/s, arrivals: constant, requests: 40, prompt: 100, output: 50, prefix: {groups: 1, tokens: 2000}}
tokens: {input: $0.5/M, cached-input: $0.125/M, output: $8/M}
`

func resultOf(t *testing.T, text string, overrides ...string) *Result {
	t.Helper()
	f, err := Parse("sale.yaml", []byte(text), overrides...)
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	return r
}

// The tokens of an hour are those of its requests, each at its price: all prompts but the first
// find the prefix in the cache.
func TestTokensSold(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	const hour = 3600 / 1e6 // millions of tokens, for each that a request has
	s := resultOf(t, sale).Sold
	cached := 2000 * 39 / 40.0
	near("input", s.InputDollars, 0.5*hour*(2100-cached))
	near("cached input", s.CachedDollars, 0.125*hour*cached)
	near("output", s.OutputDollars, 8*hour*50)
	near("an hour", s.Hourly, s.InputDollars+s.CachedDollars+s.OutputDollars)
	near("the margin", *s.Margin, s.Hourly-3)

	s = resultOf(t, strings.Replace(sale, " cached-input: $0.125/M,", "", 1)).Sold
	near("without a price of cached input", s.InputDollars+s.CachedDollars, 0.5*hour*2100)

	unknown := (&TokenPrices{Output: TokenPrice{Amount: 1}}).Revenue(TokenCounts{Output: 1}, 1, 0)
	if unknown.Margin != nil || unknown.Hourly != 1 {
		t.Errorf("of a fleet whose price is not known: %+v", unknown)
	}
}

// Nobody pays for requests that are turned away or given up: what is sold is what was answered,
// over the whole run.
func TestOnlyAnswersAreSold(t *testing.T) {
	r := resultOf(t, sale, "workload.rate=400/s", "workload.requests=2000",
		"fleet.admission={policy: queue-limit, per-replica: 4}")
	if r.Rejected == 0 || r.Completed == 0 {
		t.Fatalf("%d requests are turned away, %d answered: nothing is tested", r.Rejected,
			r.Completed)
	}
	want := float64(50*r.Completed) / r.Duration * 3600 / 1e6
	s := r.Sold
	if math.Abs(s.Output/want-1) > 1e-9 || math.Abs((s.Input+s.Cached)/s.Output-2100.0/50) > 1e-9 {
		t.Errorf("%+v is sold in an hour, want %g million tokens of answers", s, want)
	}
}

// Prices that are no prices are errors, and defaults are shown.
func TestTokenPrices(t *testing.T) {
	for _, bad := range []string{"0.5", "$0.5", "$-1/M", "$1/h", "$NaN/M", "$1e99/M"} {
		_, err := Parse("sale.yaml", []byte(strings.Replace(sale, "$0.5/M", bad, 1)))
		if !IsInputError(err) || !strings.Contains(err.Error(), "such as $0.15/M") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	f, err := Parse("sale.yaml", []byte(strings.Replace(sale, " cached-input: $0.125/M,", "", 1)))
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	defer s.Source.Close()
	if text, err := s.Explain(); err != nil ||
		!strings.Contains(string(text), "cached-input: $0.5/M # default") {
		t.Errorf("error %v, explained as\n%s", err, text)
	}
}

// A load is near capacity where requests vary by much more than the steps do, and the servers bear
// as much more or less of it as steps are faster or slower.
func TestLoadNearCapacity(t *testing.T) {
	spread := evidence.Spread{TPOT: 0.1}
	fast, slow := spread.Range()
	for ratio, want := range map[float64]bool{slow / fast: false, 2 * slow / fast: true} {
		v := Intervals{Of: map[string]Range{"mean_e2el_ms": {Low: 1, High: ratio}}}
		load, near := v.Load(&spread)
		if near != want || math.Abs(load.Low*slow-1) > 1e-9 || math.Abs(load.High*fast-1) > 1e-9 {
			t.Errorf("requests vary %g-fold, steps %g-fold: %+v, %v", ratio, slow/fast, load, near)
		}
	}
	if _, near := (&Intervals{}).Load(&spread); near {
		t.Error("a run without requests is near capacity")
	}
}
