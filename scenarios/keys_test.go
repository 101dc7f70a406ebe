package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Each key and figure says what it means, and what it takes if it is a key.
func TestEveryKeyHasADoc(t *testing.T) {
	for _, key := range Keys() {
		if len(key.Means) < 5 || key.Takes == "" {
			t.Errorf("%s takes %q and means %q", key.Path, key.Takes, key.Means)
		}
	}
	for _, figure := range Figures() {
		if len(figure.Means) < 5 {
			t.Errorf("%s means %q", figure.Path, figure.Means)
		}
	}
}

// Keys lists the keys of the schema: a section that is shared has its keys once.
func TestKeysAreTheSchemas(t *testing.T) {
	var want []string
	var walk func(path string, s *jsonschema.Schema)
	walk = func(path string, s *jsonschema.Schema) {
		for _, either := range s.AnyOf {
			walk(path, either)
		}
		if s.Items != nil {
			walk(path, s.Items)
		}
		for name, inner := range s.Properties {
			want = append(want, path+name)
			walk(path+name+".", inner)
		}
	}
	walk("", scenarioSchema(t))
	listed, at := map[string]bool{}, map[string]string{}
	for _, key := range Keys() {
		listed[key.Path] = true
		if _, other, shared := strings.Cut(key.Takes, "the keys of "); shared {
			other, _, _ = strings.Cut(other, ",")
			at[key.Path+"."] = other + "."
		}
		if !slices.Contains(want, key.Path) && !strings.HasSuffix(key.Path, "…") {
			t.Errorf("the schema does not have %s", key.Path)
		}
	}
	for _, path := range want {
		for range at { // a shared section may be within another
			for alias, section := range at {
				if rest, inside := strings.CutPrefix(path, alias); inside {
					path = section + rest
				}
			}
		}
		if !listed[path] && path != "model.name" { // the text of model tells of it
			t.Errorf("Keys does not list %s", path)
		}
	}
}
