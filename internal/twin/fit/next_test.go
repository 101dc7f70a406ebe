package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// The load that is named as the next to be measured narrows the prediction most: of the loads that
// a hidden server can be measured under, none leaves less uncertainty once it is measured, but for
// the noise of slopes, and the prediction is then known about as well as was said.
func TestNextNarrowsMost(t *testing.T) {
	testkit.Dear(t)
	server := Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("s.yaml", []byte(`
model: llama-3.1-8b
hardware: h100-sxm
engine: vllm
workload: {rate: 30/s, prompt: 800, output: 60, requests: 300}
`), sets...)
	}}
	hidden := scenarios.Factors{Prompts: 1.3, Memory: 1.1, Cache: 1.2, Step: 1.5, Sequence: 2,
		Request: 0.7, Mixed: 1.1}
	known := measure(t, &server, hidden, observed.Run{Name: "known", Load: observed.Load{Rate: 1,
		Requests: 100, Seconds: 100, Prompt: 800, Output: 60}})
	before := next(t, &server, []observed.Run{known})
	byWords := map[string]float64{}
	for _, c := range candidates(30, 800, 60) {
		run := measure(t, &server, hidden, c.run)
		byWords[c.words] = next(t, &server, []observed.Run{known, run})[0].Now
	}
	best, last := before[0], before[len(before)-1]
	for _, n := range before {
		t.Logf("%-60s now ±%.1f %%, said ±%.1f %%, found ±%.1f %%", n.Load, 100*n.Now, 100*n.Then,
			100*byWords[n.Load])
		if byWords[n.Load] < 0.7*byWords[best.Load] {
			t.Errorf("%s leaves ±%.1f %%, less than %s with ±%.1f %%", n.Load,
				100*byWords[n.Load], best.Load, 100*byWords[best.Load])
		}
	}
	if byWords[best.Load] >= byWords[last.Load] {
		t.Errorf("the first, %s, leaves ±%.1f %%, and the last, %s, ±%.1f %%", best.Load,
			100*byWords[best.Load], last.Load, 100*byWords[last.Load])
	}
	if r := byWords[best.Load] / best.Then; r < 0.5 || r > 2 {
		t.Errorf("%s leaves ±%.1f %%, said ±%.1f %%", best.Load, 100*byWords[best.Load],
			100*best.Then)
	}
}

// measure returns a run with the mean latencies of a server with hidden factors.
func measure(t *testing.T, s *Server, hidden scenarios.Factors, run observed.Run) observed.Run {
	t.Helper()
	o, err := s.run(t.Context(), hidden, &run)
	testkit.OK(t, err)
	rng := rand.New(rand.NewPCG(7, 7))
	noisy := func(of func(*served) float64) float64 {
		return mean(o, of) * math.Exp(0.005*rng.NormFloat64())
	}
	run.Summary = observed.Figures{TTFT: noisy(func(s *served) float64 { return s.ttft }),
		TPOT: noisy(func(s *served) float64 { return s.tpot })}
	return run
}

// next returns the loads that could be measured after the given runs.
func next(t *testing.T, s *Server, runs []observed.Run) []Next {
	t.Helper()
	r, err := Run(t.Context(), Config{Server: *s, Runs: runs})
	testkit.OK(t, err)
	list, err := r.FindNext(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatalf("found %v, %v", list, err)
	}
	return list
}
