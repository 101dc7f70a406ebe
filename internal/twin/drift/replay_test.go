package drift_test

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/drift"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// twin returns the server that is replayed, with the given lines of its engine.
func twin(engine string) *fit.Server {
	return &fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("s.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
			"engine: {preset: vllm"+engine+"}\n"+
			"workload: {rate: 8/s, prompt: 500, output: 50, requests: 100}\n"), sets...)
	}}
}

// served draws requests, and gives them the latencies that a twin predicts. Their client may have a
// limit, or send late.
func served(t *rapid.T, server *fit.Server) observed.Run {
	r := observed.Run{Name: "run"}
	if rapid.Bool().Draw(t, "limited") {
		r.Load.Concurrency = rapid.IntRange(1, 8).Draw(t, "limit")
	}
	at := rapid.Float64Range(0, 10)
	for range rapid.IntRange(1, 60).Draw(t, "n") {
		q := observed.Request{Arrival: at.Draw(t, "at"), TTFT: 1, E2E: 1,
			Prompt: rapid.IntRange(1, 4000).Draw(t, "in"),
			Output: rapid.IntRange(1, 60).Draw(t, "out"),
			Failed: rapid.IntRange(0, 9).Draw(t, "failed") == 0}
		if r.Load.Concurrency == 0 && rapid.Bool().Draw(t, "late") {
			q.Sent = q.Arrival + at.Draw(t, "delay")
		}
		r.Requests = append(r.Requests, q)
	}
	r.Sort()
	pairs, err := server.Compare(t.Context(), scenarios.Factors{}, &r)
	if err != nil && !strings.Contains(err.Error(), "no requests") {
		t.Fatal(err)
	}
	n := 0
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Failed {
			q.TTFT, q.E2E = 0, 0
			continue
		}
		p := &pairs[n]
		n++
		if p.At != q.Start() || p.Prompt != float64(q.Prompt) || p.Output != float64(q.Output) {
			t.Fatalf("request %+v is compared as %+v", *q, *p)
		}
		q.TTFT, q.E2E = p.TTFT[1], p.E2E[1]
	}
	return r
}

// A twin that is as fast as the server predicts each of its latencies exactly; the pairs are in the
// order in which the run lists its requests.
func TestTwinReproducesItself(t *testing.T) {
	server := twin("")
	rapid.Check(t, func(rt *rapid.T) {
		r := served(rt, server)
		runs, err := drift.Simulate(rt.Context(), server, &observed.Observed{
			Runs: []observed.Run{r}})
		if err != nil {
			if !strings.Contains(err.Error(), "no requests") {
				rt.Fatal(err)
			}
			return // all failed
		}
		for _, p := range runs[0].Pairs {
			near := func(pair [2]float64) bool {
				return pair[0] == 0 || math.Abs(pair[0]/pair[1]-1) < 1e-6 // a time is in ns
			}
			if p.TTFT[0] != p.TTFT[1] || p.E2E[0] != p.E2E[1] || !near(p.TPOT) {
				rt.Fatalf("a request is predicted as %+v", p)
			}
		}
	})
}

// A server that is slower than its twin is predicted too fast, in every request.
func TestSlowerServer(t *testing.T) {
	slow := twin(", factors: {prompts: 1.2, memory: 1.2, cache: 1.2, step: 1.2, sequence: 1.2, " +
		"request: 1.2}")
	rapid.Check(t, func(rt *rapid.T) {
		r := served(rt, slow)
		r.Load.Concurrency = 1 // so that no request waits for another
		pairs, err := twin("").Compare(rt.Context(), scenarios.Factors{}, &r)
		if err != nil && !strings.Contains(err.Error(), "no requests") {
			rt.Fatal(err)
		}
		for _, p := range pairs {
			if p.TTFT[0] <= p.TTFT[1] || p.E2E[0] <= p.E2E[1] {
				rt.Fatalf("a request is predicted as %+v", p)
			}
		}
	})
}

// What has no latencies cannot be replayed.
func TestNothingToReplay(t *testing.T) {
	for _, r := range []observed.Run{{Name: "empty"},
		{Name: "figures", Summary: observed.Figures{TTFT: 1}},
		{Name: "steps", Steps: []observed.Step{{Decodes: 1, Seconds: 1}}}} {
		_, err := drift.Simulate(t.Context(), twin(""), &observed.Observed{
			Runs: []observed.Run{r}})
		if err == nil || !strings.Contains(err.Error(), "nothing to replay") {
			t.Errorf("%s: the error is %v", r.Name, err)
		}
	}
}

// pairs returns n requests of which number i took i+1 ms, and was predicted to take that times a
// factor.
func pairs(n int, factor float64) (list []fit.Pair) {
	for i := range n {
		v := float64(i+1) / 1000
		both := [2]float64{v, v * factor}
		list = append(list, fit.Pair{At: v, Weight: 1, TTFT: both, TPOT: both, E2E: both})
	}
	return list
}

// page writes the page of runs.
func page(t *rapid.T, runs ...drift.Replay) string {
	var b bytes.Buffer
	testkit.OK(t, drift.WriteReplayPage(&b, "title", runs))
	return b.String()
}

// The page says by how much each statistic is off, whatever the number of requests; lists at most
// twenty of them; and its curves have at most 100 points.
func TestPage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(rt, "n")
		factor := rapid.Float64Range(0.5, 2).Draw(rt, "factor")
		text := page(rt, drift.Replay{Name: "a run", Pairs: pairs(n, factor)})
		said := regexp.MustCompile(`\([+-](\d+\.\d) %\)`).FindAllStringSubmatch(text, -1)
		if len(said) != 12 {
			rt.Fatalf("errors are said %d times of the p50, p90 and p99 of 3 latencies",
				len(said))
		}
		for _, one := range said {
			v, err := strconv.ParseFloat(one[1], 64)
			if err != nil || math.Abs(v-100*math.Abs(factor-1)) > 0.051 {
				rt.Fatalf("an error of %g %% is said to be %s %%", 100*(factor-1), one[1])
			}
		}
		rows := regexp.MustCompile(`<td>[\d.]+</td></tr>`).FindAllString(text, -1)
		if len(rows) != min(n, 20) {
			rt.Fatalf("%d of %d requests are listed", len(rows), n)
		}
		if got := strings.Count(text, "<svg"); got != 3 {
			rt.Fatalf("the page has %d pictures", got)
		}
		if got := strings.Count(text, "<path"); got < 6*min(n, 100) || got > 6*100+150 {
			rt.Fatalf("of %d requests, %d marks are drawn", n, got)
		}
		if len(text) > 120_000 {
			rt.Fatalf("the page of %d requests has %d bytes", n, len(text))
		}
	})
}

// TestNamesAreText of runs come from files, and are text in the page.
func TestNamesAreText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a-z]{0,5}<script>[a-z"'&<>]{1,9}`).Draw(rt, "name")
		if text := page(rt, drift.Replay{Name: name, Pairs: pairs(3, 1)}); strings.Contains(text,
			"<script") {
			rt.Fatalf("the page of %q has a script", name)
		}
	})
}
