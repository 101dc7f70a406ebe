package validation

import (
	"fmt"
	"path"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// LMDeploy's generation benchmark: batch clients send a request of fixed lengths each at the same
// moment, and all prompts are computed before the first sequence decodes. The file's name states
// GPU and number format: static_batch_GPU_FORMAT.csv.
func readStaticBatch(c *catalogs, t *table) []experiment {
	base := strings.TrimSuffix(path.Base(t.file), path.Ext(t.file))
	gpu, dtype := splitLast(strings.TrimPrefix(strings.ToLower(base), "static_batch_"), "_")
	k := *t.kind
	k.GPU, k.DType = k.GPU+"|="+gpu, k.DType+"|="+dtype
	t.kind = &k
	return trials(rowSpec{describe: describeStaticBatch})(c, t)
}

func describeStaticBatch(_ *catalogs, r *row, t *trial) string {
	// All prompts that wait are computed before anybody decodes.
	t.tokenBudget, t.Memory.LargestStep = maxCount, 8192
	t.atOnce()
	t.Name = fmt.Sprintf("batch %d, %d in, %d out", t.count, t.prompt, t.output)
	t.rehearsable = false
	if t.prompt == 1 { // says nothing about the computing of prompts
		for i := range t.measured {
			if m := &t.measured[i]; m.Quantity == "TTFT mean" {
				m.Quantity = "TTFT empty"
			}
		}
	}
	t.figures = func(all *outcome) map[string]float64 {
		predicted := all.latenciesAndRate()
		predicted["token p50"] = all.gaps.Quantile(0.5) / float64(sim.Millisecond)
		predicted["TTFT empty"] = predicted["TTFT mean"]
		return predicted
	}
	return ""
}

// splitLast cuts s at the last separator.
func splitLast(s, separator string) (before, after string) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+len(separator):]
}
