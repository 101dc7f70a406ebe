package capacity

import (
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The bound of a step of any number of tokens, which is interpolated between a few, is at most what
// the step takes and the slack, for accelerators, parallelism and formats of all kinds.
func TestStepsTakeWhatBoundsSay(t *testing.T) {
	for _, text := range []string{`
model: llama-3.1-8b
workload: {rate: 5/s, prompt: 600, output: 200}
slo: {ttft: 1s}
menu: {hardware: [h100-sxm, a100-80gb-sxm, l40s, b200-sxm, mi300x, l4], tensor: [1, 2, 4], weights: [bf16, fp8]}
`, `
model: mixtral-8x7b
workload: {rate: 5/s, prompt: 600, output: 200}
slo: {ttft: 1s}
menu: {hardware: [h100-sxm, a100-80gb-sxm], tensor: [1, 2, 4], data: [1, 2, 4], expert: [1, 2, 4, 8]}
`} {
		s, trials := prepared(t, text)
		checked, worst := 0, 0.0
		for _, o := range s.options {
			if o.Unfit() != "" {
				continue
			}
			steps, err := trials.Steps(o.Prefill)
			testkit.OK(t, err)
			for n := 1; n < candidate.LargestStep; n += max(1, n/41) {
				bound, takes := o.Prefill.Pace.Step(float64(n)), candidate.LinearTime(steps, n)
				checked++
				worst = max(worst, bound/takes)
				if bound > candidate.BoundSlack*takes {
					t.Errorf("%s: a step of %d tokens takes %g s, and its bound is %g",
						s.label(o.Index), n, takes, bound)
					break
				}
			}
		}
		t.Logf("%d steps, a bound is %.3g times the time at most", checked, worst)
	}
}
