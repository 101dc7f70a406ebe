package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// LMDeploy's generation benchmark: batch clients send a request of fixed lengths each at the same
// moment, and all prompts are computed before the first sequence decodes.
func staticBatchRow(_ *catalogs, r *row, t *trial) string {
	t.atOnce()
	t.Name = fmt.Sprintf("batch %d, %d in, %d out", t.count, t.prompt, t.output)
	t.rehearsable = false
	if t.prompt == 1 { // says nothing about the computing of prompts
		t.rename("TTFT mean", "TTFT empty")
	}
	t.figures = func(all *outcome) map[string]float64 {
		predicted := all.latenciesAndRate()
		predicted["token p50"] = all.gaps.Quantile(0.5) / float64(sim.Millisecond)
		predicted["TTFT empty"] = predicted["TTFT mean"]
		return predicted
	}
	return ""
}
