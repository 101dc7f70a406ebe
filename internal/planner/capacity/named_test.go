package capacity

import (
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The fleets that answer the shipped plans keep the SLO in three draws of the load that decided
// nothing, of 6,000 requests each or of the time that the plan names: with all spares down, and
// with latencies as late as the plan allows for. The share of requests that keep it may be below
// the target by no more than draws differ.
func TestNamedFleetsKeepTheSLOInFreshDraws(t *testing.T) {
	const draws, requests = 3, 6000
	for _, name := range asked.Shipped() {
		t.Run(name, func(t *testing.T) {
			testkit.Dear(t)
			f, err := asked.Open(name)
			testkit.OK(t, err)
			shared, err := findEach(t.Context(), f, testQueue(t), Options{})
			testkit.OK(t, err)
			for _, s := range shared.found {
				if s.best < 0 {
					t.Fatal("there is no answer")
				}
				o, n := s.chosen(), s.outcomes[s.best].replicas
				var runs []judge.Trial
				for draw := range draws {
					scenario := o.Scenario(&s.Trials.File.Plan.Menu, n, o.Worst().Steps)
					scenario.Seed += 1000 + uint64(draw)
					run, sent, err := s.Trials.Fleet(t.Context(), scenario, n, s.Rate,
						o.Worst().Late, requests)
					testkit.OK(t, err)
					if sent < requests && f.Plan.Workload.Duration == 0 {
						t.Errorf("%d requests in draw %d", sent, draw)
					}
					if runs = append(runs, run); run.Growing {
						t.Errorf("latencies grow in draw %d", draw)
					}
				}
				kept, target := judge.SharePooled(runs), runs[0].Target
				t.Logf("%d replicas of %s: %.4f ± %.4f of %g", n, s.label(s.best), kept.Mean,
					kept.Half, target)
				if kept.Mean+kept.Half < target {
					t.Errorf("%d replicas of %s keep the SLO for %.4f ± %.4f of the requests, "+
						"want %g", n, s.label(s.best), kept.Mean, kept.Half, target)
				}
			}
		})
	}
}
