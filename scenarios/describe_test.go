package scenarios

import (
	"strings"
	"testing"
)

// Names that nobody knows fail where they are given, with the nearest one that is known.
func TestDescribeRefusesUnknownNames(t *testing.T) {
	for _, c := range []struct{ model, accelerator, override, want string }{
		{"llama-3.1-9b", "h100-sxm", "seed=1", "did you mean llama-3.1-8b"},
		{"llama-3.1-8b", "h100-smx", "seed=1", "did you mean h100-sxm"},
		{"llama-3.1-8b", "h100-sxm", "engine=vlm-v1", "did you mean vllm-v1"},
	} {
		f, err := Describe(c.model, c.accelerator, c.override)
		if f != nil || !IsInputError(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s with %s: %v, %v", c.model, c.accelerator, c.override, f, err)
		}
	}
}
