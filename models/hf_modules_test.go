package models

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An expression names the same modules however it is compiled.
func TestExpressionsMatchFromTheStart(t *testing.T) {
	pieces := []string{".*", ".*?", ".+", "|", "(", ")", "^", "$", "model", "layers\\.\\d+", "mlp",
		"\\.", "(gate|up)_proj", "_proj", "[a-z]", "?"}
	names := []string{"", "mlp", "layers.3.mlp.gate_proj", "model.layers.12.mlp.up_proj",
		"model.language_model.layers.0.self_attn.q_proj", "lm_head"}
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "source"),
			"")
		plain, wrong := regexp.Compile("^(?:" + source + ")")
		fast, err := compile(source)
		if (err != nil) != (wrong != nil) {
			t.Fatalf("%v, want %v", err, wrong)
		}
		for _, name := range names {
			if err == nil && fast.MatchString(name) != plain.MatchString(name) {
				t.Errorf("%q: %t", name, !plain.MatchString(name))
			}
		}
	})
}
