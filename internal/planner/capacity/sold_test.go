package capacity

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// A deployment sells all tokens that its users ask for in an hour, each at its price: all prompts
// of a workload that repeats its prefixes, most of which come from a cache, and all answers. The
// fleet as a scenario sells the same.
func TestTokensSold(t *testing.T) {
	const text = `
model: llama-3.1-8b
workload: {rate: 20/s, prompt: 100, output: 50, prefix: {groups: 4, tokens: 2000}}
slo: {ttft: 1s, tpot: 50ms}
tokens: {input: $0.5/M, cached-input: $0.05/M, output: $2/M}
menu: {hardware: [h100-sxm], tensor: [1]}
effort: {requests: 500, most-requests: 1000}
`
	for _, change := range []string{"", ", memory: [{policy: paged}]", ", memory: []"} {
		plan := strings.Replace(text, ", tensor: [1]", ", tensor: [1]"+change, 1)
		if change == ", memory: []" { // cached tokens have no price of their own
			plan = strings.Replace(text, " cached-input: $0.05/M,", "", 1)
		}
		found, _ := prepared(t, plan)
		testkit.OK(t, found.answer(context.Background()))
		d, err := found.fleet().Deploy(context.Background())
		testkit.OK(t, err)
		s := d.Sold
		const output = 20 * 50 * 3600 / 1e6
		if prompts := s.Input + s.Cached; math.Abs(s.Output/output-1) > 1e-9 ||
			math.Abs(prompts/s.Output-2100.0/50) > 1e-6 {
			t.Errorf("%q: %+v million tokens of prompts and %g of answers an hour", change,
				prompts, s.Output)
		}
		if paged := strings.Contains(change, "paged"); paged != (s.Cached == 0) ||
			!paged && s.Cached < 10*s.Input {
			t.Errorf("%q: %g million tokens are cached, %g are not", change, s.Cached, s.Input)
		}
		want := 0.5*s.Input + 0.05*s.Cached + 2*s.Output
		if change == ", memory: []" {
			want = 0.5*(s.Input+s.Cached) + 2*s.Output
		}
		if math.Abs(s.Hourly/want-1) > 1e-9 {
			t.Errorf("%q: $%g an hour, want $%g", change, s.Hourly, want)
		}
		if again := ran(t, d.Scenario); !near(again, s) {
			t.Errorf("%q: as a scenario the fleet sells %+v, in the plan %+v", change, again, s)
		}
	}
}

// ran returns what the tokens of an hour are worth by the result of a scenario.
func ran(t *testing.T, text string) *scenarios.TokenRevenue {
	t.Helper()
	f, err := scenarios.Parse("chosen.yaml", []byte(text))
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	return r.Sold
}

// near reports whether two sales are the same but for rounding.
func near(a, b *scenarios.TokenRevenue) bool {
	for _, pair := range [][2]float64{{a.Input, b.Input}, {a.Cached, b.Cached},
		{a.Output, b.Output}, {a.Hourly, b.Hourly}, {*a.Margin, *b.Margin}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[0]) {
			return false
		}
	}
	return true
}
