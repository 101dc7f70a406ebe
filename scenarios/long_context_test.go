package scenarios

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// vLLM V0 cuts the prompts of servers of more than 32,768 tokens of context, into steps of 512
// tokens before 0.6.5 and of 2,048 since, unless attention is latent or windowed, or a model is
// adapted; a scenario that names its own policy keeps it.
func TestLongContextsCutPrompts(t *testing.T) {
	for _, c := range []struct{ model, engine, more, policy, budget string }{
		{"llama-3.1-8b", "0.6.3, max-model-len: 32769", "", "vllm-v1", "512"},
		{"llama-3.1-8b", "0.6.3, max-model-len: 32768", "", "vllm-v0", "8192"},
		{"llama-3.1-8b", "0.6.3", "", "vllm-v1", "512"},
		{"llama-3.1-8b", "0.6.5", "", "vllm-v1", "2048"},
		{"llama-3.1-8b", "0.5.3", "", "vllm-v0", "8192"},
		{"llama-2-7b", "0.6.3", "", "vllm-v0", "8192"},
		{"gemma-3-12b", "0.6.3", "", "vllm-v0", "8192"},
		{"llama-3.1-8b", "0.6.3", "adapters: {count: 4, rank: 16}\n", "vllm-v0", "8192"},
		{"llama-3.1-8b", "0.6.3", "batching: {policy: vllm-v0}\n", "vllm-v0", ""},
	} {
		f, err := Parse("t.yaml", []byte("model: "+c.model+"\nhardware: h100-sxm\n"+
			"engine: {preset: vllm, version: "+c.engine+"}\n"+c.more))
		testkit.OK(t, err)
		s, err := f.Build(policies.Default())
		testkit.OK(t, err)
		b := s.Scenario.Batching
		if b.Policy != c.policy || c.budget != "" && b.Params["token-budget"] != c.budget {
			t.Errorf("%s under vLLM %s %s has %s with %v, want %s with a token budget of %s",
				c.model, c.engine, c.more, b.Policy, b.Params, c.policy, c.budget)
		}
	}
}
