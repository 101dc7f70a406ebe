package scenarios

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
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
