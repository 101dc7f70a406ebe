package scenarios

import (
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// The presets' times can be changed one by one; a slower host takes longer for all that is its
// work.
func TestEngineTimesAreTheScenarios(t *testing.T) {
	const alone = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {arrivals: at-once, " +
		"prompt: 10, output: 101, requests: 1}\n"
	tpot := func(overrides ...string) float64 { return runYAML(t, alone, overrides...).MeanTPOT }
	base := tpot("engine.step=1ms")
	for _, c := range []struct {
		overrides []string
		longer    float64
	}{
		{[]string{"engine.step=3ms"}, 2},
		{[]string{"engine.step=1ms", "hardware.host=1"}, 0},
		{[]string{"engine.step=1ms", "engine.sequence=1us", "hardware.host=3"}, 2 * 1.001},
		{[]string{"engine.step=1ms", "engine.host-step=1s"}, 1000 - (base - 1)},
	} {
		if got := tpot(c.overrides...) - base; math.Abs(got-c.longer) > 0.03 {
			t.Errorf("%v: a step takes %g ms longer, want %g", c.overrides, got, c.longer)
		}
	}
}

// Scheduling ahead is never slower than scheduling between steps: not under the constants of one
// version, and not under those of the versions that do either by themselves.
func TestSchedulingAheadIsNoSlower(t *testing.T) {
	for _, server := range []string{
		"model: qwen2.5-7b\nhardware: h100-sxm\n",
		"model: llama-3.1-8b\nhardware: a100-80gb\n",
		"model: llama-3.1-70b\nhardware: h100-sxm\nparallelism: {tensor: 4}\n",
	} {
		for _, load := range []string{
			"workload: {requests: 300, prompt: 512, output: 256, arrivals: at-once}\n",
			"workload: {requests: 4, prompt: 100, output: 100, arrivals: at-once}\n",
		} {
			rate := func(overrides ...string) float64 {
				return runYAML(t, server+load, overrides...).OutputThroughput
			}
			for _, preset := range []string{"vllm-v1", "vllm-v1-sync", "sglang"} {
				own := "engine.preset=" + preset
				ahead := rate(own, "engine.scheduling=asynchronous")
				if between := rate(own, "engine.scheduling=synchronous"); between > ahead {
					t.Errorf("%s%s: %s makes %.0f tokens/s when it schedules ahead, and %.0f when "+
						"it does not", server, load, preset, ahead, between)
				}
			}
			if sync, async := rate("engine.preset=vllm-v1-sync"), rate(); sync > async {
				t.Errorf("%s%s: vllm-v1-sync makes %.0f tokens/s, and vllm-v1 %.0f", server, load,
					sync, async)
			}
		}
	}
}

// Contexts are divided under vLLM alone, and multiply the tokens that fit; what vLLM refuses is.
func TestContextsAreDivided(t *testing.T) {
	const text = "model: deepseek-v2-lite\nhardware: h100-sxm\nworkload: {requests: 9, " +
		"arrivals: at-once, prompt: 900, output: 50}\nparallelism: {tensor: 4, decode-context: 2}\n"
	parts := runYAML(t, text)
	whole := runYAML(t, strings.Replace(text, ", decode-context: 2", "", 1))
	if got := whole.PeakKVUsage / parts.PeakKVUsage; math.Abs(got-2) > 1e-3 {
		t.Errorf("%g times the share of the memory, want 2", got)
	}
	for override, want := range map[string]string{
		"engine=sglang":                "parallelism.decode-context: found 2, and the engine",
		"parallelism.decode-context=3": "decode-context 3 must divide tensor parallelism 4",
		"model=gpt-oss-20b":            "decode-context 2: want at most 1",
	} {
		f, err := Parse("contexts.yaml", []byte(text), override)
		testkit.OK(t, err)
		_, err = f.Build(policies.Default())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", override, err, want)
		}
	}
}
