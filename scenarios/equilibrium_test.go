package scenarios_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// closedLoop runs a closed loop of a model on H100s with some overrides, and observes it.
func closedLoop(t *testing.T, observer sim.Observer, overrides ...string) *scenarios.Result {
	t.Helper()
	f, err := scenarios.Parse("loop.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"workload: {arrivals: {process: closed-loop, users: 200}, prompt: 1000, output: 250, "+
		"requests: 2000}\n"), overrides...)
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default(), observer)
	testkit.OK(t, err)
	return r
}

// arrivals keeps when requests arrived.
type arrivals struct {
	sim.NopObserver
	at []sim.Time
}

func (a *arrivals) Finished(s *sim.Sequence) { a.at = append(a.at, s.Arrival) }

// In equilibrium, users' first requests are spread over the cycle of a user, which by Little's law
// is the number of users over the throughput of the loop. So the cycle that is predicted must be
// near that of the run. Started together, all users would arrive at 0.
func TestCycleIsLittles(t *testing.T) {
	for _, c := range [][]string{
		{},
		{"workload.arrivals.users=64"},
		{"workload.arrivals.users=64", "workload.arrivals.think=10s"},
		{"workload.arrivals.users=20", "workload.prompt=4000", "workload.output=60"},
		{"workload.arrivals.users=128", "replicas=4"},
		{"workload.arrivals.users=64", "model=llama-3.1-70b", "parallelism=4"},
		{"workload.arrivals.users=64", "model=llama-3.1-70b",
			"parallelism={tensor: 2, pipeline: 2}"},
		{"workload.arrivals.users=100", "memory.tokens=40000"},
		{"workload.arrivals.users=100", "batching.max-sequences=16"},
		{"workload.arrivals.users=60", "workload.sessions={turns: 5, think: 10s}"},
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			seen := &arrivals{}
			closedLoop(t, seen, c...)
			slices.Sort(seen.at)
			users := 200
			if len(c) > 0 {
				fmt.Sscanf(c[0], "workload.arrivals.users=%d", &users)
			}
			// the middle of the run, without its start and its drain
			n := len(seen.at)
			rate := float64(n/2) / (seen.at[3*n/4] - seen.at[n/4]).Seconds()
			cycle := float64(users) / rate
			spread := seen.at[users/2].Seconds() * 2
			if ratio := spread / cycle; ratio < 0.6 || ratio > 1.6 {
				t.Errorf("half of %d users have started after %.3g s, want half of a cycle of "+
					"%.3g s", users, spread/2, cycle)
			}
		})
	}
}

// Users at random places of their cycle arrive about as requests do that know nothing of each
// other: the p95 of TTFT is near that of a Poisson process with the loop's throughput (users over
// the time of a request, by Little's law), whatever the seed. Only a loop that starts together is
// said to march in step.
func TestEquilibriumIsNoBurst(t *testing.T) {
	const slo = "slo={percentile: 95, ttft: 500ms, tpot: 40ms}"
	p95 := func(r *scenarios.Result) float64 { return r.P95TTFT }
	steps := func(r *scenarios.Result) bool {
		return strings.Contains(strings.Join(r.Warnings, "\n"), "arrive together")
	}
	for seed := range 5 {
		at := fmt.Sprintf("seed=%d", seed)
		none := sim.NopObserver{}
		loop := closedLoop(t, none, slo, at)
		open := closedLoop(t, none, slo, at, "workload.arrivals=poisson",
			fmt.Sprintf("workload.rate=%.3f/s", 200/loop.MeanE2EL*1000))
		together := closedLoop(t, none, slo, at, "workload.arrivals.start=together")
		if ratio := p95(loop) / p95(open); ratio < 0.6 || ratio > 1.6 {
			t.Errorf("seed %d: p95 of TTFT %v in a closed loop, %v in an open one", seed, p95(loop),
				p95(open))
		}
		if steps(loop) || !steps(together) {
			t.Errorf("seed %d: said to march in step: %v in equilibrium, %v together", seed,
				steps(loop), steps(together))
		}
	}
}

// Any load is said to come together where its late requests do: in bursts, and in a trace of which
// many requests have one time; not a Poisson process, nor a wave, whatever the seed.
func TestBurstsAreNoticed(t *testing.T) {
	burst := filepath.Join(t.TempDir(), "burst.csv")
	rows := "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	for i := range 300 { // ten at a time, every ten seconds
		rows += fmt.Sprintf("2023-11-16 18:%02d:%02d.0000000,2000,40\n", i/60, i/10*10%60)
	}
	testkit.OK(t, os.WriteFile(burst, []byte(rows), 0o600))
	for load, want := range map[string]bool{
		"workload.rate={pattern: bursts, high: 60/s, for: 1s, pause: 20s}": true,
		"workload={trace: " + burst + ", requests: 300}":                   true,
		"workload.rate=2/s": false,
		"workload.rate={pattern: wave, average: 4/s, swing: 0.5, period: 5m}": false,
	} {
		for seed := range 5 {
			f, err := scenarios.Parse("open.yaml", []byte("model: llama-3.1-8b\nhardware: "+
				"h100-sxm\nworkload: {prompt: 2000, output: 40, requests: 600}\n"), load,
				fmt.Sprintf("seed=%d", seed))
			testkit.OK(t, err)
			r, err := f.Run(context.Background(), policies.Default())
			testkit.OK(t, err)
			words := strings.Join(r.Warnings, "\n")
			if strings.Contains(words, "arrive together") != want {
				t.Errorf("%s, seed %d: said to come together: %v, want %v: %q", load, seed, !want,
					want, words)
			}
		}
	}
}
