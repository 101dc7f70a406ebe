package scenarios

import (
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// vLLM V0 cuts the prompts of servers of more than 32,768 tokens of context, into steps of 512
// tokens before 0.6.5 and of 2,048 since, unless attention is latent or windowed, or a model is
// adapted; a scenario that says otherwise has its way. Where prompts are not cut, a step has room
// for the longest context, and for 2,048 tokens at least (vllm/config.py, v0.6).
func TestLongContextsCutPrompts(t *testing.T) {
	for _, c := range []struct{ model, engine, more, chunked, budget string }{
		{"llama-3.1-8b", "0.6.3, max-model-len: 32769", "", "true", "512"},
		{"llama-3.1-8b", "0.6.3, max-model-len: 32768", "", "false", "32768"},
		{"llama-3.1-8b", "0.6.3", "", "true", "512"},
		{"llama-3.1-8b", "0.6.5", "", "true", "2048"},
		{"llama-3.1-8b", "0.5.3", "", "false", "131072"},
		{"llama-2-7b", "0.6.3", "", "false", "4096"},
		{"llama-2-7b", "0.6.3, max-model-len: 1024", "", "false", "2048"},
		{"gemma-3-12b", "0.6.3", "", "false", "131072"},
		{"llama-3.1-8b", "0.6.3", "adapters: {count: 4, rank: 16}\n", "false", "131072"},
		{"llama-3.1-8b", "0.6.3", "batching: {chunked-prefill: false}\n", "false", "512"},
	} {
		f, err := Parse("t.yaml", []byte("model: "+c.model+"\nhardware: h100-sxm\n"+
			"engine: {preset: vllm, version: "+c.engine+"}\n"+c.more))
		testkit.OK(t, err)
		s, err := f.Build(policies.Default())
		testkit.OK(t, err)
		b := s.Scenario.Batching
		if b.Policy != "vllm-v0" || b.Params["chunked-prefill"] != c.chunked ||
			b.Params["token-budget"] != c.budget {
			t.Errorf("%s under vLLM %s %s has %s with %v, want a token budget of %s, chunked: %s",
				c.model, c.engine, c.more, b.Policy, b.Params, c.budget, c.chunked)
		}
	}
}

// A stretched context takes longer prompts, and changes nothing else: the same requests have the
// same latencies as in the model's own context. A longer max-model-len is refused without it.
func TestStretchedContext(t *testing.T) {
	text := "model: qwen3-8b\nhardware: h100-sxm\nworkload: {rate: 2/s, requests: 50, " +
		"prompt: 4000, output: 50}\n"
	own := runYAML(t, text, "engine.max-model-len=40960")
	stretched := runYAML(t, text, "engine.max-model-len=131072", "engine.stretch-context=true")
	if !reflect.DeepEqual(own.Latencies, stretched.Latencies) {
		t.Errorf("stretched: %+v, want %+v", stretched.Latencies, own.Latencies)
	}
	long := runYAML(t, text, "engine.max-model-len=131072", "engine.stretch-context=true",
		"workload.rate=0.01/s", "workload.prompt=100000")
	if long.Completed != 50 {
		t.Errorf("%d of 50 requests of 100,000 tokens are answered", long.Completed)
	}
	f, err := Parse("t.yaml", []byte(text+"engine: {max-model-len: 40961}\n"))
	testkit.OK(t, err)
	if _, err = f.Build(policies.Default()); err == nil ||
		!strings.Contains(err.Error(), "for YaRN set engine.stretch-context=true") {
		t.Errorf("a context of 40,961 tokens: %v", err)
	}
}
