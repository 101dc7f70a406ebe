package drift_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/drift"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

const text = `
model: llama-3.1-8b
hardware: {accelerator: h100-sxm}
engine: vllm
workload: {rate: 8/s, prompt: 800, output: 60, requests: 300}
`

func server() fit.Server {
	return fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("test.yaml", []byte(text), sets...)
	}}
}

// traffic is the load of a simulated deployment: the machine becomes slower by a factor after some
// requests, and prompts become longer.
type traffic struct {
	requests, after int
	slower, longer  float64
}

// seen returns what a deployment would show: the simulator's own times, with noise of each request
// that is never the same, and of the run.
func (c traffic) seen(t *testing.T, seed uint64) observed.Run {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	r := observed.Run{Name: "seen"}
	at := 0.0
	for i := range c.requests {
		at += rng.ExpFloat64() / 8
		prompt := 800 * (0.7 + 0.6*rng.Float64())
		if i >= c.after {
			prompt *= c.longer
		}
		r.Requests = append(r.Requests, observed.Request{Arrival: at, Prompt: int(prompt),
			Output: 40 + rng.IntN(41), TTFT: 1, E2E: 1})
	}
	s := server()
	pairs, err := s.Compare(context.Background(), scenarios.Factors{}, &r)
	testkit.OK(t, err)
	off := math.Exp(0.01 * rng.NormFloat64()) // a run is off by 1 %
	for i := range r.Requests {
		noise := off * math.Exp(0.05*rng.NormFloat64())
		if i >= c.after {
			noise *= c.slower
		}
		q, p := &r.Requests[i], &pairs[i]
		q.TTFT, q.E2E = p.TTFT[1]*noise, p.E2E[1]*noise
	}
	return r
}

func fitted() *scenarios.Fitted {
	return &scenarios.Fitted{Errors: scenarios.Errors{TTFT: 0.01, TPOT: 0.01, E2E: 0.01},
		Traffic: scenarios.Traffic{Rate: 8, Prompt: 800, Output: 60}}
}

func watched(t *testing.T, r observed.Run) *drift.Result {
	t.Helper()
	found, err := drift.Run(context.Background(), drift.Config{Server: server(), Fitted: fitted(),
		Runs: []observed.Run{r}, Apart: 1e6})
	testkit.OK(t, err)
	return found
}

// A machine that is 10 % slower is noticed within 1,000 requests, and its traffic is not blamed.
func TestASlowerMachineIsNoticed(t *testing.T) {
	for seed := range uint64(10) {
		r := watched(t, traffic{requests: 2000, after: 1000, slower: 1.1, longer: 1}.seen(t, seed))
		if !r.MachineChanged() || r.TrafficChanged() {
			t.Errorf("seed %d: machine %+v, traffic %+v", seed, r.Machine, r.Traffic)
			continue
		}
		for _, f := range r.Machine {
			if f.Figure != "TPOT" {
				continue
			}
			if !f.Changed || f.After*50 > 2000 || f.Since*50 < 900 || f.Shift < 0.07 ||
				f.Shift > 0.13 {
				t.Errorf("seed %d: %+v, want a change by 10 %% after 1,000 requests", seed, f)
			}
		}
	}
}

// One hundred runs without a change give no alarm.
func TestNoChangeIsSilent(t *testing.T) {
	runs := uint64(100)
	if testing.Short() {
		runs = 20
	}
	for seed := range runs {
		r := watched(t, traffic{requests: 1000, after: 1000, slower: 1, longer: 1}.seen(t, seed))
		if r.MachineChanged() || r.TrafficChanged() {
			t.Errorf("seed %d: machine %+v, traffic %+v", seed, r.Machine, r.Traffic)
		}
	}
}

// Prompts that become longer are a change of the traffic, and not of the machine.
func TestOtherTrafficIsNamed(t *testing.T) {
	for seed := range uint64(10) {
		r := watched(t, traffic{requests: 1500, after: 500, slower: 1, longer: 1.5}.seen(t, seed))
		if r.MachineChanged() || !r.TrafficChanged() {
			t.Errorf("seed %d: machine %+v, traffic %+v", seed, r.Machine, r.Traffic)
		}
		var b strings.Builder
		testkit.OK(t, r.WriteText(&b))
		if !strings.Contains(b.String(), "the traffic changed; the machine does what") {
			t.Errorf("the text is %q", b.String())
		}
	}
}

// Rules name every limit.
func TestRules(t *testing.T) {
	s := server()
	text, err := drift.Rules(context.Background(), &s, fitted())
	testkit.OK(t, err)
	for _, name := range []string{"TwinMachineTPOT", "TwinMachineTTFT", "TwinTrafficPrompt",
		"TwinTrafficOutput", "TwinTrafficRate"} {
		if strings.Count(text, fmt.Sprintf("alert: %s\n", name)) != 1 {
			t.Errorf("no rule %s in\n%s", name, text)
		}
	}
	if _, err := drift.Rules(context.Background(), &s, &scenarios.Fitted{}); err == nil {
		t.Error("rules without traffic are no error")
	}
}
