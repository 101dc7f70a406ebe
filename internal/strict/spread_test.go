package strict

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A name may be a mapping of the name and of what another key holds; both at once, or no name, are
// mistakes.
func TestSpread(t *testing.T) {
	type changes struct {
		Heads int `json:"heads,omitempty" min:"1"`
	}
	type file struct {
		Model string  `json:"model"`
		Shape changes `json:"shape,omitzero"`
	}
	for text, want := range map[string]file{
		"model: m":                    {Model: "m"},
		"model: {name: m}":            {Model: "m"},
		"model: {name: m, heads: 2}":  {Model: "m", Shape: changes{2}},
		"model: m\nshape: {heads: 2}": {Model: "m", Shape: changes{2}},
	} {
		doc, err := Parse("f.yaml", []byte(text))
		if err == nil {
			err = doc.Spread("model", "name", "shape")
		}
		var got file
		if err == nil {
			err = doc.Decode(&got)
		}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"model: {heads: 2}":                             "name is missing",
		"model: {name: m, heads: 2}\nshape: {heads: 3}": "shape is given too",
	} {
		doc, err := Parse("f.yaml", []byte(text))
		testkit.OK(t, err)
		if err := doc.Spread("model", "name", "shape"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
