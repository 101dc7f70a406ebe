package policies

import (
	"errors"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Every batching policy can be made with its defaults, and has a source.
func TestBatchingPoliciesHaveDefaults(t *testing.T) {
	for _, p := range batchingPolicies() {
		if _, err := p.Build(place(), nil); err != nil || p.Source == "" {
			t.Errorf("%s: %v; source %q", p.Name, err, p.Source)
		}
	}
}

// What cannot be is refused, at its parameter where it is one's, with the reason and what would
// work.
func TestBatchingPoliciesRefuse(t *testing.T) {
	for _, c := range []struct {
		policy, parameter, value string
		at, want                 string
	}{
		{"vllm-v0", "preemption", "swap", "preemption",
			"set memory.swap, such as 16GiB, or use recompute"},
		{"vllm-v1", "preemption", "swap", "preemption",
			"vllm-v0, srtf, mlfq, priority and edf can swap"},
		{"vllm-v1", "chunk-limit", "9000", "",
			"want at most token-budget (8192), or 0 for no limit"},
		{"vllm-v1", "token-budget", "100", "", "at least max-sequences (256)"},
		{"sarathi", "token-budget", "100", "", "at least max-sequences (128)"},
		{"sarathi", "mode", "combind", "mode", "combined"},
		{"static", "chunk-limit", "512", "chunk-limit", "vllm-v1, sarathi and trtllm"},
		{"dynamic", "token-budget", "512", "token-budget", "vllm-v1 and sarathi"},
		{"orca", "token-budget", "512", "token-budget", "vllm-v1 and sarathi"},
		{"vllm-v0", "chunk-limit", "512", "chunk-limit", "vllm-v1, sarathi and trtllm"},
		{"sglang", "new-token-ratio", "0", "", "more than 0 and at most 1"},
		{"sglang", "receive-interval", "0", "", "at least 1"},
		{"vllm-v1", "prefill-interval", "0", "", "at least 1"},
		{"sglang", "chunk", "0", "", "at least 1"},
		{"trtllm", "wait-tokens", "1.5", "", "0 (start at once) to 1"},
		{"trtllm", "rank-wait", "-1", "", "0"},
		{"mlfq", "quantum", "0s", "", "more than 0"},
		{"vtc", "input-weigth", "1", "input-weigth", "did you mean input-weight"},
		{"priority", "key", "", "key", `want an expression such as "prompt + 2 * output"`},
		{"priority", "key", "promt + 2", "key",
			`unknown name "promt"; did you mean prompt? (at character 1)`},
		{"priority", "key", "maxi(prompt, 2)", "key",
			`unknown name "maxi"; did you mean max? (at character 1)`},
		{"priority", "key", "prompt +", "key", "ends too early"},
		{"priority", "key", "prompt > 5", "key", "want a number, found a condition"},
		{"priority", "key", "prompt + (output > 5)", "key",
			`"+" does not go between a number and a condition (at character 8)`},
		{"priority", "key", "prompt % 2", "key", `"%" does not go between a number and a number`},
		{"priority", "key", `"prompt"`, "key", "want a number, found a string"},
	} {
		p, err := Default().Batching.Lookup(c.policy)
		testkit.OK(t, err)
		_, err = p.Build(place(), map[string]string{c.parameter: c.value})
		var at *ParamError
		if errors.As(err, &at); err == nil || !strings.Contains(err.Error(), c.want) ||
			c.at != "" && (at == nil || at.Name != c.at) {
			t.Errorf("%s with %s %q: %v, want %q at %q", c.policy, c.parameter, c.value, err,
				c.want, c.at)
		}
	}
}
