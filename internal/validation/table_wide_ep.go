package validation

import (
	"context"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// DeepSeek-V3 on many nodes, tokens a second a node of eight: production figures and a blog.
var wideEPColumns = []string{"system", "gpu", "phase", "parallel", "tok_s_per_node"}

// What the pages say of the load and the tables do not: sequences an accelerator while decoding,
// tokens an accelerator in a prefill step, and the mean context. SGLang's blog (LMSYS, May 2025):
// batches of 256 and inputs of 2,000 tokens, 16,384 prompt tokens an accelerator. DeepSeek's
// (open-infra-index, day 6): 20-22 tokens/s a user, contexts of 4,989 tokens on average.
const (
	wideBatch, wideChunk = 256, 16384
	productionContext    = 4989
	productionSpeed      = 21.0 // tokens/s a user
	productionCached     = 0.563
	// Both have 32 experts twice, so that 72 and 144 accelerators divide them, and compute prompts
	// in two halves that overlap.
	wideRedundant = 32
)

type wideEP struct {
	deployment
	place
	prompts    bool
	production bool
	prompt     int
	measured   []measurement
}

func readWideEP(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		var ranks int
		if _, err := fmt.Sscanf(r.required("parallel"), "EP%d", &ranks); err != nil || ranks < 2 ||
			ranks > 1024 {
			r.fail(fmt.Errorf("parallel: found %q, want EP and a number from 2 to 1024",
				r.text("parallel")))
		}
		w := &wideEP{measured: r.measured([]figure{
			{"tok_s_per_node", "tokens a node", "tokens/s", 1}})}
		w.prompts = strings.HasPrefix(r.required("phase"), "prefill")
		w.production = r.text("input_len") == ""
		w.prompt = r.optionalCount("input_len", productionContext)
		w.deployment = c.deploy(r, r.value("model|=deepseek-v3"), r.required("gpu"),
			r.value("dtype|=fp8"), 1)
		w.data, w.redundant, w.twoBatch = ranks, wideRedundant, w.prompts
		if r.err != nil {
			return
		}
		w.engine = "sglang"
		w.setDefaults()
		w.kv = hardware.BF16
		w.place = place{Group: w.group(), file: t.file, line: r.line}
		w.name = fmt.Sprintf("%s, %s, %s", r.text("system"), r.text("phase"), r.text("parallel"))
		list = append(list, w)
	})
	return list
}

func (w *wideEP) at() place { return w.place }

// compare implements experiment: one step of all ranks.
func (w *wideEP) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	clock, err := w.clock(p)
	if err != nil {
		return nil, err
	}
	nodes := float64(w.data) / 8
	var rate float64
	if w.prompts {
		chunks := max(1, wideChunk/w.prompt) * w.data
		step := clock.Duration(prefill(chunks, w.prompt, 0)).Seconds()
		rate = float64(chunks*w.prompt) / step
		if w.production { // tokens found in the cache are counted
			rate /= 1 - productionCached
		}
	} else {
		batch := wideBatch
		step := func(n int) float64 { return clock.Duration(decode(n*w.data, w.prompt)).Seconds() }
		if w.production { // as many as keep the speed of a user
			for batch = 1; batch < maxBatch && step(batch+1)*productionSpeed < 1; batch++ {
			}
		}
		rate = float64(batch*w.data) / step(batch)
	}
	return w.place.compare(w.measured, map[string]float64{"tokens a node": rate / nodes}), nil
}
