package drift_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/drift"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// shown is what a server with the factors shows of 1,500 requests at a rate, with noise.
func shown(t *testing.T, rng *rand.Rand, f scenarios.Factors, rate float64) observed.Run {
	t.Helper()
	r := observed.Run{Name: "seen"}
	at := 0.0
	for range 1500 {
		at += rng.ExpFloat64() / rate
		r.Requests = append(r.Requests, observed.Request{Arrival: at, Prompt: 500 + rng.IntN(600),
			Output: 40 + rng.IntN(41), TTFT: 1, E2E: 1})
	}
	s := server()
	pairs, err := s.Compare(context.Background(), f, &r)
	testkit.OK(t, err)
	for i := range pairs {
		noise := math.Exp(0.03 * rng.NormFloat64())
		r.Requests[i].TTFT, r.Requests[i].E2E = pairs[i].TTFT[1]*noise, pairs[i].E2E[1]*noise
	}
	return r
}

// A twin that was fitted at 4 requests/s to a server that does not do quite what the simulator can
// repeat, since its steps follow a law of load, does not call the same server a changed one at
// other rates, and still notices a tenth more time for each step at its own rate.
func TestOtherLoadsAreNotAnotherMachine(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	own := server()
	cases := []struct {
		rate, slower float64
		least, most  float64 // of the share of alarms
	}{{4, 1, 0, 0}, {12, 1, 0, 0.1}, {24, 1, 0, 0.1}, {4, 1.1, 0.9, 1}, {12, 1.2, 0.9, 1},
		{24, 1.2, 0.9, 1}}
	alarms, narrow := make([]float64, len(cases)), make([]float64, len(cases))
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 11))
		f := scenarios.Factors{Prompts: math.Exp(0.1 * rng.NormFloat64()),
			Memory: math.Exp(0.05 * rng.NormFloat64()), Load: 1.08, Step: 1, Cache: 1}
		r, err := fit.Run(context.Background(), fit.Config{Server: own,
			Runs: []observed.Run{shown(t, rng, f, 4)}, Hold: 0.3})
		testkit.OK(t, err)
		known, err := r.Deployment(&own, &observed.Observed{}, "")
		testkit.OK(t, err)
		unknown := *known // of which loads the fit was, so that its tolerance is that of all
		unknown.Traffic.LeastUsers = 0
		for i, c := range cases {
			there := f
			for _, factor := range []*float64{&there.Prompts, &there.Memory, &there.Cache,
				&there.Step} {
				*factor *= c.slower
			}
			runs := []observed.Run{shown(t, rng, there, c.rate)}
			for twin, count := range map[*scenarios.Fitted]*float64{known: &alarms[i],
				&unknown: &narrow[i]} {
				found, err := drift.Run(context.Background(), drift.Config{Server: own,
					Fitted: twin, Runs: runs, Apart: 1e6})
				testkit.OK(t, err)
				if found.MachineChanged() {
					*count += 1 / float64(seeds)
				}
			}
		}
	}
	for i, c := range cases {
		t.Logf("at %g/s, steps %g as long: %.0f %% alarms, %.0f %% with the tolerance of the "+
			"fit's own load", c.rate, c.slower, 100*alarms[i], 100*narrow[i])
		if alarms[i] < c.least-1e-9 || alarms[i] > c.most+1e-9 {
			t.Errorf("at %g/s with steps %g as long, %.0f %% of %d runs give an alarm, want "+
				"%.0f to %.0f %%", c.rate, c.slower, 100*alarms[i], seeds, 100*c.least, 100*c.most)
		}
	}
}
