package house

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Each package that programs may import shows how, with an example that runs, and the forty symbols
// that a program meets first have one.
func TestPublicPackagesHaveExamples(t *testing.T) {
	has := map[string]bool{} // by folder
	examples := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch base := entry.Name(); {
		case entry.IsDir() && (base == "internal" || base == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() && filepath.Dir(name) == ".":
			if f := floors[name]; name != "." && (f == 0 || f >= floors["cmd"]) {
				return filepath.SkipDir
			}
		case strings.HasSuffix(base, "_test.go") && filepath.Dir(name) != ".":
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if bytes.Contains(text, []byte("\nfunc Example")) &&
				bytes.Contains(text, []byte("// Output:")) {
				has[filepath.Dir(name)] = true
				examples += bytes.Count(text, []byte("\nfunc Example"))
			}
		case strings.HasSuffix(base, ".go") && filepath.Dir(name) != ".":
			has[filepath.Dir(name)] = has[filepath.Dir(name)]
		}
		return nil
	})
	testkit.OK(t, err)
	if len(has) < 15 {
		t.Errorf("found %d public packages; is this the module's root?", len(has))
	}
	if examples < 39 {
		t.Errorf("%d examples, want at least 39", examples)
	}
	for folder, shown := range has {
		if !shown {
			t.Errorf("%s has no example", folder)
		}
	}
}
