package trace

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

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

// A client is silent in the windows that are not active, and has its mean rate over all of them.
func TestServegenKeepsSilentWindows(t *testing.T) {
	head := strings.Replace(servegenHead, "windows,", "windows,active_windows,", 1)
	draw := func(rows string) []sim.Request {
		list, _, err := read("c.csv", Options{FS: fstest.MapFS{"c.csv": {Data: []byte(head +
			rows)}}})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	rapid.Check(t, func(t *rapid.T) {
		active := rapid.IntRange(1, 40).Draw(t, "active")
		windows := rapid.IntRange(active, 200).Draw(t, "windows")
		rate := 4000 / (float64(windows) * servegenWindow.Seconds())
		row := func(active string) string {
			return fmt.Sprintf("0,%d,%s,%g,1,Gamma,300,200,80,60\n", windows, active, rate)
		}
		list := draw(row(strconv.Itoa(active)))
		seen := map[sim.Time]bool{}
		for i, r := range list {
			seen[r.Arrival/servegenWindow] = true
			if i > 0 && r.Arrival < list[i-1].Arrival ||
				r.Arrival >= sim.Time(windows)*servegenWindow {
				t.Fatalf("request %d at %v", i, r.Arrival)
			}
		}
		if len(seen) != active || math.Abs(float64(len(list))/4000-1) > 0.08 {
			t.Fatalf("%d requests in %d windows, want 4000 in %d", len(list), len(seen), active)
		}
		if all := draw(row(strconv.Itoa(windows))); !reflect.DeepEqual(all, draw(row(""))) {
			t.Fatal("without a number of active windows, some are silent")
		}
	})
	if _, _, err := read("c.csv", Options{FS: fstest.MapFS{"c.csv": {Data: []byte(head +
		"0,3,4,1,1,Gamma,9,9,9,9\n")}}}); err == nil ||
		!strings.Contains(err.Error(), "active_windows: found 4, allowed: at most the 3 windows") {
		t.Error(err)
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
