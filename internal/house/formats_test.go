package house

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The keys of scenario files and of JSON results are format 1, which their schemas name. A key may
// be added, with -update. A key that is removed breaks files and programs, and needs format 2.
func TestFormatsKeepTheirKeys(t *testing.T) {
	for name, schema := range map[string]string{"scenario": "schema.json",
		"result": "result.schema.json"} {
		var of map[string]any
		testkit.OK(t, json.Unmarshal(testkit.Read(t, filepath.Join("scenarios", schema)), &of))
		if title, _ := of["title"].(string); !strings.HasSuffix(title, "format 1") {
			t.Errorf("the title of %s is %q, and names no format", schema, title)
		}
		keys := map[string]bool{}
		addKeys(keys, "", of)
		path := filepath.Join(written, name+"-keys.txt")
		got := strings.Join(slices.Sorted(maps.Keys(keys)), "\n") + "\n"
		if *update {
			testkit.OK(t, os.WriteFile(path, []byte(got), 0o666))
		}
		if diff := cmp.Diff(string(testkit.Read(t, path)), got); diff != "" {
			t.Errorf("the keys of a %s differ from %s: go test ./internal/house -run Formats "+
				"-update\n%s", name, path, diff)
		}
	}
}

// addKeys adds the paths of all keys below a schema, wherever it lists properties.
func addKeys(keys map[string]bool, at string, schema any) {
	switch s := schema.(type) {
	case []any:
		for _, one := range s {
			addKeys(keys, at, one)
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, of := range properties {
			path := strings.TrimPrefix(at+"."+name, ".")
			keys[path] = true
			addKeys(keys, path, of)
		}
		for _, inner := range []string{"anyOf", "allOf", "oneOf", "items", "additionalProperties"} {
			addKeys(keys, at, s[inner])
		}
	}
}
