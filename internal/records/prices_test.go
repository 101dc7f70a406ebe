package records

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// pricedRecord is a record of an hour at $2 with a million tokens, at a price of each million and
// its denominator.
func pricedRecord(price float64, over string) *Record {
	return &Record{Command: "scenario", Result: json.RawMessage(fmt.Sprintf(`{"duration": 3600,
		"cost": 2, "total_output_tokens": 1000000, "cost_per_million_output_tokens": %g,
		"cost_per_session": %g, "priced_over": %q, "tokens_sold": {"dollars_per_hour": %g,
		"margin_dollars_per_hour": 1}}`, price, price/100, over, 3/price))}
}

// Records beside each other have one denominator of prices: a million tokens for $2 cost $2 over
// the whole run, whatever the offered rate was. A session costs as many tokens as before, tokens
// keep their worth, and the margin is the worth less the price of the fleet.
func TestRecordsArePricedAlike(t *testing.T) {
	offered, whole := "at the offered rate", "over the whole run with its drain"
	alone, err := together(pricedRecord(1, offered), pricedRecord(4, offered))
	testkit.OK(t, err)
	both, err := together(pricedRecord(1, offered), pricedRecord(2, whole))
	testkit.OK(t, err)
	for i, want := range []map[string]float64{
		{"cost_per_million_output_tokens": 1, "cost_per_session": 0.01},
		{"cost_per_million_output_tokens": 4, "cost_per_session": 0.04},
		{"cost_per_million_output_tokens": 2, "cost_per_session": 0.02,
			"tokens_sold.dollars_per_hour":        1.5,
			"tokens_sold.margin_dollars_per_hour": -0.5},
		{"cost_per_million_output_tokens": 2, "cost_per_session": 0.02,
			"tokens_sold.dollars_per_hour":        1.5,
			"tokens_sold.margin_dollars_per_hour": -0.5},
	} {
		got := append(alone, both...)[i]
		for key, x := range want {
			if math.Abs(got[key]-x) > 1e-12 {
				t.Errorf("record %d: %s is %g, want %g", i, key, got[key], x)
			}
		}
	}
}
