package report

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// However a replica is spread, the roof is that of one accelerator, and no step is above it.
func TestRoofIsOfOneAccelerator(t *testing.T) {
	for _, parallelism := range []string{"{tensor: 8, pipeline: 2}", "{tensor: 1, data: 32}",
		"{tensor: 2, data: 32}", "{tensor: 1, data: 32, pipeline: 2}"} {
		file, err := scenarios.Describe("deepseek-v3", "h200-sxm", "parallelism="+parallelism)
		testkit.OK(t, err)
		steps, err := file.Steps(policies.Default())
		testkit.OK(t, err)
		r := NewRoofline(steps, []int{2048}, []int{1, 64, 2048}, 1024)
		if r.Bandwidth != steps.Accelerator.Bandwidth {
			t.Errorf("%s: the bandwidth of one accelerator is %g, want %g", parallelism,
				r.Bandwidth, steps.Accelerator.Bandwidth)
		}
		for _, s := range r.Steps {
			for _, p := range append(s.Operators, s.RooflinePoint) {
				if p.Rate > p.Roof*1.001 {
					t.Errorf("%s: %s, %s: %g FLOP/s are above the roof, %g", parallelism, s.Name,
						p.Name, p.Rate, p.Roof)
				}
			}
		}
	}
}
