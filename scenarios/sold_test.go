package scenarios

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

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
