package steptime

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// DeepSeek-V3.2 attends to 2,048 chosen tokens, so that long contexts cost a fraction of what they
// cost DeepSeek-V3.1, whose shape is that of V3: about a third in prefill and a sixth in decode at
// 128k tokens, as read off figure 3 of the technical report of DeepSeek-V3.2-Exp (DeepSeek-AI
// 2025), weights and all. The report prints no numbers. Others read six times for decode too
// (webdevwizardyt.com, "DeepSeek V3.2-Exp", 2025); of prefill no second reading was found. Here
// attention alone is compared, with all heads on each of eight accelerators as DeepSeek serves
// them. Short contexts gain nothing: the index is scanned besides.
func TestSparseAttentionSavesWhatItsPaperSays(t *testing.T) {
	known, err := models.Load()
	testkit.OK(t, err)
	attention := func(name string, s *sim.Step) float64 {
		model, err := known.Lookup(name)
		testkit.OK(t, err)
		c := mustClock(t, Config{Model: model, Accelerator: h100(), ScaleUp: nvlink4,
			Network: network, Engine: Engines()[0],
			Parallel: Parallelism{Data: 8}})
		sum := 0.0
		for _, o := range c.Breakdown(s) {
			if o.Name == "attention_decode" || o.Name == "attention_prefill" {
				sum += o.Time.Seconds()
			}
		}
		return sum
	}
	decode := func(context int64) float64 {
		s := &sim.Step{Decodes: 256, DecodeTokens: 256, Context: 256 * context}
		return attention("deepseek-v3", s) / attention("deepseek-v3.2", s)
	}
	prefill := func(cached int) float64 {
		s := &sim.Step{Prefill: []sim.Chunk{{New: 4096, Cached: cached}}}
		return attention("deepseek-v3", s) / attention("deepseek-v3.2", s)
	}
	t.Logf("decode attention of V3 takes %.2f times as long at 1k, %.2f at 32k, %.2f at 100k; "+
		"prefill %.2f at 0, %.2f at 32k, %.2f at 100k",
		decode(1000), decode(32000), decode(100_000), prefill(0), prefill(32000), prefill(100_000))
	if long, short := decode(100_000), decode(1000); long < 2.5 || long > 9 || short > 1.05 {
		t.Errorf("decode attention of V3 takes %.2f times as long at 100k tokens, and %.2f "+
			"times at 1k", long, short)
	}
	if long := prefill(100_000); long < 2 || long > 8 {
		t.Errorf("prefill attention of V3 takes %.2f times as long after 100k tokens", long)
	}
}
