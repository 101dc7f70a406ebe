package fit_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

const hiddenServer = `
model: llama-3.1-8b
hardware: {accelerator: h100-sxm}
parallelism: {tensor: 1}
engine: vllm
workload: {rate: 8/s, prompt: 800, output: 60, requests: 300}
`

// hidden draws factors as they are believed to be before measurements, and shows what a server with
// them serves under three loads.
func hidden(t *testing.T, seed uint64) (scenarios.Factors, []observed.Run) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	var f scenarios.Factors
	fields := map[string]*float64{"prompts": &f.Prompts, "memory": &f.Memory, "cache": &f.Cache,
		"step": &f.Step, "sequence": &f.Sequence, "request": &f.Request, "mixed": &f.Mixed}
	for _, known := range fit.Factors() {
		if field := fields[known.Name]; field != nil {
			*field = math.Exp(known.Prior * rng.NormFloat64())
			*field = min(8, max(0.15, *field))
		}
	}
	return f, shown(t, rng, f, 2, 8, 20)
}

// shown is what a server with the factors serves at rates, with noise.
func shown(t *testing.T, rng *rand.Rand, f scenarios.Factors, rates ...float64) []observed.Run {
	t.Helper()
	s := server(hiddenServer)
	var runs []observed.Run
	for _, rate := range rates {
		r := observed.Run{Name: fmt.Sprintf("%g/s", rate)}
		at := 0.0
		for at < 120 {
			at += rng.ExpFloat64() / rate
			r.Requests = append(r.Requests, observed.Request{Arrival: at,
				Prompt: 300 + rng.IntN(1200), Output: 20 + rng.IntN(100), TTFT: 1, E2E: 1})
		}
		pairs, err := s.Compare(context.Background(), f, &r)
		testkit.OK(t, err)
		for j := range pairs {
			noise := math.Exp(0.03 * rng.NormFloat64())
			r.Requests[j].TTFT, r.Requests[j].E2E = pairs[j].TTFT[1]*noise, pairs[j].E2E[1]*noise
		}
		runs = append(runs, r)
	}
	return runs
}

// sums turns requests into what counters grow by in a minute.
func sums(r observed.Run) observed.Run {
	made := observed.Run{Name: r.Name + " by the minute"}
	prompts, outputs := 0.0, 0.0
	for i := range r.Requests {
		q := &r.Requests[i]
		n := int(q.Arrival / 60)
		for len(made.Intervals) <= n {
			made.Intervals = append(made.Intervals, observed.Interval{
				At: 60 * float64(len(made.Intervals)), Seconds: 60})
		}
		v := &made.Intervals[n]
		v.Requests++
		v.PromptTokens += float64(q.Prompt)
		v.OutputTokens += float64(q.Output)
		v.TTFT += q.TTFT
		v.E2E += q.E2E
		v.TPOT += q.E2E - q.TTFT
		prompts, outputs = prompts+float64(q.Prompt), outputs+float64(q.Output)
	}
	n := float64(len(r.Requests))
	made.Load.Prompt, made.Load.Output = prompts/n, outputs/n
	for i := range made.Intervals {
		v := &made.Intervals[i]
		v.TTFT, v.E2E, v.TPOT = v.TTFT/v.Requests, v.E2E/v.Requests,
			v.TPOT/(v.OutputTokens-v.Requests)
	}
	return made
}

// recovered counts the factors that lie in the interval of two deviations, which is to hold 95 of
// 100.
func recovered(t *testing.T, f scenarios.Factors, runs []observed.Run) (inside, all int) {
	t.Helper()
	r, err := fit.Run(context.Background(), fit.Config{Server: server(hiddenServer), Runs: runs})
	testkit.OK(t, err)
	isOneServer(t, r)
	truth := map[string]float64{"prompts": f.Prompts, "memory": f.Memory, "cache": f.Cache,
		"step": f.Step, "sequence": f.Sequence, "request": f.Request, "mixed": f.Mixed}
	for _, found := range r.Factors {
		want, there := truth[found.Name]
		if !there {
			continue
		}
		all++
		if math.Abs(math.Log(found.Value/want)) <= 2*found.Deviation {
			inside++
		} else {
			t.Logf("%s is %.3f ± %.3f, hidden %.3f", found.Name, found.Value, found.Deviation, want)
		}
	}
	return inside, all
}

// Hidden factors lie in their intervals, from single requests and from sums a minute.
func TestRecovery(t *testing.T) {
	testkit.Dear(t)
	const draws = 20
	var inside, all [2]int
	for seed := range uint64(draws) {
		f, runs := hidden(t, 100+seed)
		var minutes []observed.Run
		for _, r := range runs {
			minutes = append(minutes, sums(r))
		}
		for i, data := range [][]observed.Run{runs, minutes} {
			in, n := recovered(t, f, data)
			inside[i], all[i] = inside[i]+in, all[i]+n
		}
	}
	if said := fmt.Sprintf("Of %d hidden factors of simulated servers, two deviations held %d.",
		all[0], inside[0]); !bytes.Contains(testkit.Read(t,
		"../../../docs/twin.md"), []byte(said)) {
		t.Errorf("docs/twin.md does not say: %s", said)
	}
	for i, from := range []string{"requests", "sums a minute"} {
		share := float64(inside[i]) / float64(all[i])
		t.Logf("from %s: %d of %d factors in intervals of 95 %%", from, inside[i], all[i])
		if share < 0.85 {
			t.Errorf("from %s: %.0f %% of the factors lie in their intervals, want 95 %%, and at "+
				"least 85 %% by chance", from, 100*share)
		}
	}
}

// A round trip and a law of load that a server has are found, and each is 1 or absent of servers
// that have none; a law is not looked for where loads do not differ.
func TestWhatDataAskFor(t *testing.T) {
	draws := uint64(4)
	if testing.Short() {
		draws = 1
	}
	far := scenarios.Span(sim.Seconds(0.13))
	for _, c := range []struct {
		name     string
		of       scenarios.Factors
		rates    []float64
		far, law bool
	}{
		{"neither", scenarios.Factors{Prompts: 1.2, Request: 2}, []float64{2, 20}, false, false},
		{"a client far away", scenarios.Factors{RoundTrip: far}, []float64{2, 20}, true, false},
		{"a law", scenarios.Factors{Load: 1.15}, []float64{1, 8, 24}, false, true},
		{"one load of a law", scenarios.Factors{Load: 1.15}, []float64{20}, false, false},
	} {
		trips, laws := 0, 0
		for seed := range draws {
			runs := shown(t, rand.New(rand.NewPCG(seed, 7)), c.of, c.rates...)
			r, err := fit.Run(context.Background(), fit.Config{Server: server(hiddenServer),
				Runs: runs, Hold: 0.3})
			testkit.OK(t, err)
			isOneServer(t, r)
			found := r.Values()
			if found.RoundTrip > 0 {
				trips++
			}
			if found.Load > 0 {
				laws++
			}
			t.Logf("%s, seed %d: trip %v, load %.3f", c.name, seed, found.RoundTrip, found.Load)
			trip := float64(found.RoundTrip) / float64(far)
			if c.far && (trip < 0.9 || trip > 1.1) {
				t.Errorf("seed %d: the round trip is %v, want %v", seed, found.RoundTrip, far)
			}
			if c.law && (found.Load < 1.1 || found.Load > 1.2) {
				t.Errorf("seed %d: the factor on load is %.3f, want %.2f", seed, found.Load,
					c.of.Load)
			}
		}
		if !c.far && trips > 0 || !c.law && laws > 0 {
			t.Errorf("%s: %d of %d fits have a round trip, and %d a law", c.name, trips, draws,
				laws)
		}
	}
}
