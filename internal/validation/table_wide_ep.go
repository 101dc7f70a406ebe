package validation

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
)

// DeepSeek-V3 on many nodes, tokens a second a node of eight: production figures and a blog.
// What the pages say of the load and the tables do not: sequences an accelerator while decoding,
// tokens an accelerator in a prefill step, and the mean context. SGLang's blog (LMSYS, May 2025):
// batches of 256 and inputs of 2,000 tokens, 16,384 prompt tokens an accelerator. DeepSeek's
// (open-infra-index, day 6): 20-22 tokens/s a user, contexts of 4,989 tokens on average.
const (
	wideBatch, wideChunk = 256, 16384
	productionContext    = 4989
	productionSpeed      = 21.0 // tokens/s a user
	productionCached     = 0.563
)

func wideEPRow(_ *catalogs, r *row, t *trial) string {
	if _, err := fmt.Sscanf(r.required("parallel"), "EP%d", &t.Parallelism.Data); err != nil ||
		t.Parallelism.Data < 2 || t.Parallelism.Data > 1024 {
		r.fail(fmt.Errorf("parallel: found %q, want EP and a number from 2 to 1024",
			r.text("parallel")))
	}
	prompts := strings.HasPrefix(r.required("phase"), "prefill")
	production := r.text("input_len") == ""
	t.prompt = r.count(fmt.Sprint("input_len|=", productionContext))
	if r.err != nil {
		return ""
	}
	t.kv = hardware.BF16
	t.Name = fmt.Sprintf("%s, %s, %s", r.text("system"), r.text("phase"), r.text("parallel"))
	t.clocked(func(clock *steptime.Clock) map[string]float64 {
		rate := t.wideRate(clock, prompts, production)
		return map[string]float64{"tokens a node": 8 * rate / float64(t.Parallelism.Data)}
	})
	return ""
}

// wideRate returns the tokens a second of all ranks, of one step.
func (t *trial) wideRate(clock *steptime.Clock, prompts, production bool) float64 {
	if prompts {
		chunks := max(1, wideChunk/t.prompt) * t.Parallelism.Data
		step := clock.Duration(prefill(chunks, t.prompt, 0)).Seconds()
		rate := float64(chunks*t.prompt) / step
		if production { // tokens found in the cache are counted
			rate /= 1 - productionCached
		}
		return rate
	}
	batch := wideBatch
	step := func(n int) float64 {
		return clock.Duration(decode(n*t.Parallelism.Data, t.prompt)).Seconds()
	}
	if production { // the number that keeps the speed of a user
		for batch = 1; batch < maxBatch && step(batch+1)*productionSpeed < 1; batch++ {
		}
	}
	return float64(batch*t.Parallelism.Data) / step(batch)
}
