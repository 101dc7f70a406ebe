package batching_test

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Each parameter takes its bounds, and nothing beyond them. Words are "policy name=value".
func TestBoundsOfParameters(t *testing.T) {
	for words, allowed := range map[string]bool{
		"vllm-v1 max-sequences=1": true, "vllm-v1 max-sequences=0": false,
		"vllm-v1 token-budget=256": true, "vllm-v1 token-budget=255": false,
		"vllm-v1 chunk-limit=8192": true, "vllm-v1 chunk-limit=8193": false,
		"vllm-v1 prefill-interval=1": true, "vllm-v1 prefill-interval=0": false,
		"vllm-v0 watermark=0": true, "vllm-v0 watermark=0.99": true, "vllm-v0 watermark=1": false,
		"orca max-batch=1": true, "orca max-batch=0": false,
		"static batch-size=1": true, "static batch-size=0": false, "dynamic max-delay=0s": true,
		"sglang max-sequences=1": true, "sglang max-sequences=0": false,
		"sglang chunk=1": true, "sglang chunk=0": false, "sglang new-token-ratio=1": true,
		"sglang new-token-ratio=1.01": false, "sglang new-token-ratio=0": false,
		"sglang receive-interval=1": true, "sglang receive-interval=0": false,
		"trtllm wait-tokens=1": true, "trtllm wait-tokens=1.01": false,
		"lightllm wait-steps=0": true, "lightllm wait-steps=-1": false,
		"lightllm max-output=-1": false, "lightllm max-sequences=0": false,
		"mlfq levels=1": true, "mlfq levels=0": false, "mlfq levels=32": true,
		"mlfq levels=33": false, "mlfq max-sequences=1": true, "mlfq max-sequences=0": false,
		"mlfq quantum=1ns": true, "mlfq quantum=0s": false, "mlfq prefill-rate=0": false,
		"vtc input-weight=0": true, "vtc output-weight=0": true,
		"vtc input-weight=0 output-weight=0": false,
		"sjf prediction-error=0":             true,
	} {
		parts := strings.Fields(words)
		params := map[string]string{}
		for _, pair := range parts[1:] {
			name, value, _ := strings.Cut(pair, "=")
			params[name] = value
		}
		if params["max-sequences"] == "1" && parts[0] == "vllm-v1" {
			params["token-budget"] = "1" // as few as that
		}
		p, err := policies.Default().Batching.Lookup(parts[0])
		testkit.OK(t, err)
		if _, err := p.Build(policies.Deployment{KVTokens: 1000}, params); (err == nil) != allowed {
			t.Errorf("%s: %v", words, err)
		}
	}
}
