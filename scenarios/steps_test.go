package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// As many contexts fit as a replica runs at once: of full attention as many as blocks hold, of
// windows more, and where a sequence keeps a state of fixed size, fewer.
func TestAsManyContextsFitAsRun(t *testing.T) {
	for model, tensor := range map[string]string{"llama-3.1-8b": "1", "gpt-oss-120b": "2",
		"nemotron-h-56b": "2", "qwen3-next-80b-a3b": "4"} {
		f, err := Parse("s.yaml", []byte("model: "+model+"\nhardware: h100-sxm\nparallelism: {"+
			"tensor: "+tensor+"}\nbatching: {policy: vllm-v1, max-sequences: 4096}\nworkload: "+
			"{prompt: 2500, output: 600, requests: 4096, arrivals: {process: at-once}}\n"))
		testkit.OK(t, err)
		steps, err := f.Steps(policies.Default())
		testkit.OK(t, err)
		r := run(t, build(t, f, err))
		most, least := steps.Room(2500), steps.Room(3100)
		if ran := int(r.PeakRunning); ran > most || ran < least {
			t.Errorf("%s: %d ran at once, and %d to %d fit", model, ran, least, most)
		}
	}
}

// A prompt that a budget of tokens cuts takes what its steps take: beside the hand-over, a lone
// user's time to the first token.
func TestAPromptAloneTakesWhatALoneUserWaits(t *testing.T) {
	for _, budget := range []int{2048, 8192, 32768} {
		s := presetScenario(t, fmt.Sprintf("model: llama-3.1-8b\nhardware: a100-80gb-sxm\n"+
			"batching: {policy: vllm-v1, token-budget: %d}\n"+
			"workload: {users: 1, prompt: 20000, output: 10, requests: 2}\n", budget))
		r := run(t, s)
		if p := r.Prefill; p.Tokens != 20000 || p.Step > r.MeanTTFT ||
			p.Step < 0.97*r.MeanTTFT-20 {
			t.Errorf("a budget of %d: %+v, and TTFT is %.4g ms", budget, p, r.MeanTTFT)
		}
	}
}

// Of a model whose contexts are longer than the cache, vLLM says that it does not start. So that is
// said, and with which context it does; other engines start.
func TestVLLMDoesNotStartWithLongerContexts(t *testing.T) {
	for preset, want := range map[string]string{"vllm-v1": "with which vLLM does not start: give " +
		"it --max-model-len 31792", "sglang": "was made for 40960"} {
		s := presetScenario(t, "model: qwen3-32b\nhardware: h100-sxm\nworkload: {requests: 1}\n"+
			"engine: "+preset+"\n")
		words := strings.Join(s.Warnings, "\n")
		if !strings.Contains(words, want) ||
			strings.Contains(words, "vLLM") != (preset != "sglang") {
			t.Errorf("%s: %q, want %q", preset, words, want)
		}
	}
}
