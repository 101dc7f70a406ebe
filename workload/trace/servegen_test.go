package trace

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/sim"
)

const servegenHead = "client,windows,mean_rate_rps,rate_weighted_cv,main_arrival," +
	"input_tokens_mean,input_tokens_p50,output_tokens_mean,output_tokens_p50\n"

func openText(text string) (list []sim.Request, err error) {
	list, _, err = read("clients.csv",
		Options{FS: fstest.MapFS{"clients.csv": {Data: []byte(servegenHead + text)}}})
	return list, err
}

// Drawn requests have the rates, means and medians of the table, end with the windows of their
// client, and are the same every time. A client without lengths sends nothing.
func TestServegenDrawsWhatTheTableSays(t *testing.T) {
	const text = "0,100,0.4,1.5,Gamma,300,200,80,60\n1,50,0.2,2,Weibull,30000,29000,9,9\n" +
		"2,50,5,1,Gamma,,,,\n"
	list, err := openText(text)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := openText(text)
	var n, prompts [2]float64
	for i, r := range list {
		if again[i].Arrival != r.Arrival || again[i].Prompt != r.Prompt {
			t.Fatalf("%+v, then %+v", r, again[i])
		}
		k := 0
		if r.Prompt > 10_000 {
			k = 1
		}
		n[k]++
		prompts[k] += float64(r.Prompt)
		if r.Arrival >= sim.Time([]int{100, 50}[k])*servegenWindow {
			t.Errorf("%+v comes after the last window of client %d", r, k)
		}
	}
	for k, want := range []struct{ n, mean float64 }{{0.4 * 60_000, 300}, {0.2 * 30_000, 30_000}} {
		if mean := prompts[k] / n[k]; math.Abs(n[k]/want.n-1) > 0.06 ||
			math.Abs(mean/want.mean-1) > 0.03 {
			t.Errorf("client %d: %g requests of %g tokens, want %g of %g", k, n[k], mean, want.n,
				want.mean)
		}
	}
}

func TestServegenRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "found no client with a rate and lengths",
		"0,1,1,1,Gamma,,,,\n":           "found no client with a rate and lengths",
		"0,1,1\n":                       "found 3 fields, allowed: 9",
		"0,1,x,1,Gamma,9,9,9,9\n":       `mean_rate_rps: found "x", allowed: numbers from 0`,
		"0,1,1,1,Gamma,NaN,9,9,9\n":     `input_tokens_mean: found "NaN"`,
		"0,1,1,1000,Gamma,9,9,9,9\n":    `rate_weighted_cv: found "1000"`,
		"0,1,1,1e-30,Weibull,9,9,9,9\n": "",
	} {
		_, err := openText(text)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
