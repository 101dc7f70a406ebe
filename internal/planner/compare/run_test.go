package compare

import (
	"context"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/scenarios"
)

// small is a scenario whose runs take a few milliseconds.
const small = `
model: llama-3.1-8b
hardware: h100-sxm
workload: {rate: 12/s, prompt: 400, output: 20, requests: 40}
`

// Every run of the variants, of their effects and of fast and slow steps is among the results
// whose prices have one denominator: for 2 variants of 4 runs, 2 effects of 4 runs and 2 paces of
// each variant, 20 results. Without ranges there are no paces.
func TestEveryRunIsPricedAlike(t *testing.T) {
	other := strings.NewReplacer("h100", "h200", "prompt: 400", "prompt: 500").Replace(small)
	c := run(t, 2, variant("a", small), variant("b", other))
	v := &c.Variants[1]
	if len(v.Effects) != 2 || c.Variants[0].Effects != nil || c.Replications != 4 {
		t.Fatalf("%d runs, effects %+v and %+v", c.Replications, c.Variants[0].Effects, v.Effects)
	}
	for _, e := range v.Effects {
		if len(e.trial.runs) != c.Replications || len(e.Figures) != len(v.Figures) {
			t.Errorf("%v has %d runs and %d figures", e.Change, len(e.trial.runs), len(e.Figures))
		}
		for r, one := range e.trial.runs {
			if one.Result.Seed != uint64(r)+e.trial.runs[0].Result.Seed {
				t.Errorf("run %d has the seed %d", r, one.Result.Seed)
			}
		}
	}
	if n := len(c.results(nil)); n != 8 {
		t.Errorf("%d results of effects, want 8", n)
	}
	paced := 0
	trials := []*trial{v.Effects[0].trial, v.Effects[1].trial}
	if err := addPaces(context.Background(), trials, 2); err != nil {
		t.Fatal(err)
	}
	for _, one := range trials {
		if fast, slow := one.fast.Result, one.slow.Result; fast.MeanTPOT <
			one.runs[0].Result.MeanTPOT && one.runs[0].Result.MeanTPOT < slow.MeanTPOT &&
			fast.Seed == one.runs[0].Result.Seed {
			paced++
		}
	}
	if n := len((&Comparison{}).results(trials)); n != 12 || paced != 2 {
		t.Errorf("%d results of 8 runs and 4 paces; %d pairs are faster and slower", n, paced)
	}
	if len(v.Figures) == 0 || v.Figures[0].Range == nil || c.Variants[0].Figures[0].Range != nil {
		t.Error("the second variant has ranges, and only the second")
	}
	plain, err := Run(context.Background(), []Variant{variant("a", small), variant("b", small)},
		Options{Replications: 2, Confidence: 0.95, Workers: 1, NoInterval: true})
	if err != nil || plain.Variants[1].Figures[0].Range != nil {
		t.Errorf("%v: want no ranges", err)
	}
}

// Where nothing is drawn one run says all; where a variant draws, all have the asked runs. What a
// change cannot do alone is said, and two currencies are refused.
func TestWhatRunSays(t *testing.T) {
	fixed := strings.Replace(small, "rate: 12/s", "arrivals: at-once", 1)
	for _, c := range []struct {
		a, b string
		want int
	}{{fixed, fixed, 1}, {fixed, small, 4}, {small, fixed, 4}} {
		got := run(t, 2, variant("a", c.a), variant("b", c.b))
		if got.Replications != c.want || len(got.runs) != 2 || got.Recorded {
			t.Errorf("%d runs, want %d: %+v", got.Replications, c.want, got.Recorded)
		}
		for _, f := range got.Variants[1].Figures {
			if f.Name == "margin" || f.Name == "tokens_sold" {
				t.Errorf("%s without a price of tokens", f.Name)
			}
		}
	}
	big := strings.NewReplacer("llama-3.1-8b", "llama-3.1-405b", "hardware: h100-sxm",
		"hardware: h100-sxm\nparallelism: {tensor: 8, pipeline: 2}").Replace(small)
	alone := 0
	for _, e := range run(t, 2, variant("a", small), variant("b", big)).Variants[1].Effects {
		if e.Impossible != "" && e.Figures == nil {
			alone++
		}
	}
	if alone != 1 {
		t.Errorf("%d changes cannot be made alone, want 1: the model does not fit on one", alone)
	}
	euros := strings.Replace(small, "hardware: h100-sxm",
		"hardware: {accelerator: h100-sxm, price: 2 EUR/h}", 1)
	_, err := Run(context.Background(), []Variant{variant("a", small), variant("b", euros)},
		Options{Replications: 2, Confidence: 0.95, Workers: 1})
	if !scenarios.IsInputError(err) || !strings.Contains(err.Error(),
		"a has prices in USD, and b in EUR") {
		t.Errorf("two currencies: %v", err)
	}
	for _, f := range run(t, 2, variant("a", euros), variant("b", euros)).Variants[1].Figures {
		if strings.HasPrefix(f.Name, "cost_") && f.Unit != "€" {
			t.Errorf("%s is in %s", f.Name, f.Unit)
		}
	}
}
