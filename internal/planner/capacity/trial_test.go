package capacity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
)

// What a trial shows does not rest on samples of the state, which it goes without.
func TestTrialsNeedNoSamples(t *testing.T) {
	for k, menu := range menus() {
		if testing.Short() && k%2 > 0 {
			continue
		}
		s, trials := prepared(t, menu.text(false))
		o, f := s.options[len(s.options)-1], trials.File
		if o.Unfit() != "" {
			continue
		}
		for _, load := range []float64{0.3, 1.5} {
			file, err := f.File(o.Scenario(&f.Plan.Menu, 2, o.Slow), load*o.Ceiling, 300)
			testkit.OK(t, err)
			got, err := judge.Simulate(t.Context(), file, f.Plan.Params())
			testkit.OK(t, err)
			seen, err := planner.Observe(t.Context(), file)
			testkit.OK(t, err)
			want := judge.Summarize(seen, f.Plan.Effort.Confidence, f.Plan.Replayed())
			if diff := cmp.Diff(want, got.(judge.Trial)); diff != "" {
				t.Errorf("%s: with samples (-) and without (+):\n%s", menu.name, diff)
			}
		}
	}
}

// A queue is said to grow where replicas hardly rest, and not where only the texts of conversations
// grow.
func TestQueuesGrowWhereReplicasDoNotRest(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 3/s, sessions: {turns: 6, think: 15s}, prompt: 2000, output: 150}
slo: {ttft: 500ms, tpot: 40ms, percentile: 95}
menu: {hardware: [h100-sxm], tensor: [1], tune: none}
`)
	for replicas, full := range map[int]bool{1: true, 11: false} {
		trial, _, err := s.Simulate(t.Context(), s.options[0], replicas, s.options[0].Worst(), 0)
		testkit.OK(t, err)
		if strings.Contains(trial.Limit, "the queue grows") != full {
			t.Errorf("%d replicas: %s", replicas, trial.Limit)
		}
	}
}
