package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// floors gives the floor of each room; a room may import rooms of its own floor or below. It is
// section 2 of the design.
var floors = map[string]int{
	"internal/units":   0,
	"internal/nearest": 0, "internal/testkit": 0,
	"internal/registry": 1,
	"internal/alarm":    0, "internal/files": 0, "internal/browsertest": 0,
	"sim": 1, "hardware": 1, "internal/strict": 1,
	"models": 2, "policies": 2, "workload": 2, "metrics": 2, "internal/engine": 2,
	"internal/content": 2, "internal/text": 2,
	"scenarios": 3, "internal/report": 3, "internal/telemetry": 3, "internal/launch": 3,
	"internal/ask":     4,
	"internal/planner": 4, "internal/validation": 4, "internal/load": 4, "internal/serve": 4,
	"internal/bench":      4,
	"internal/playground": 4, "internal/training": 4, "internal/records": 4, "internal/twin": 4,
	"cmd": 5, "examples": 5,
}

const module = "github.com/llmsim/llmsim/"

// eachImport calls f with every Go file of the module and each thing that it imports. Names are
// relative to the module. Tests are left out: they may bring rooms together. External test packages
// stand outside the room that they test, and are left out.
func eachImport(t *testing.T, f func(file, imported string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") ||
			strings.HasSuffix(name, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if strings.HasSuffix(parsed.Name.Name, "_test") {
			return nil
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f(filepath.ToSlash(name), imported)
		}
		return nil
	})
	testkit.OK(t, err)
}

// room returns the room of a file or a package: its first folder, or its first two under internal.
func room(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if first != "internal" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return first + "/" + second
}

func TestImportsPointDown(t *testing.T) {
	seen := 0
	eachImport(t, func(file, imported string) {
		inner, ours := strings.CutPrefix(imported, module)
		if !ours || room(file) == room(inner) {
			return
		}
		seen++
		from, known := floors[room(file)]
		to, knownToo := floors[room(inner)]
		if !known || !knownToo {
			t.Errorf("%s imports %s: one of the rooms has no floor in this test", file, inner)
		} else if to > from {
			t.Errorf("%s imports %s, which is above it", file, inner)
		}
	})
	if seen == 0 {
		t.Error("found no imports between rooms: is this the module's root?")
	}
}

func TestSimAndHardwareStandOnTheirOwn(t *testing.T) {
	eachImport(t, func(file, imported string) {
		inner, ours := strings.CutPrefix(imported, module)
		if r := room(file); ours && floors[r] <= 1 && floors[room(inner)] > 0 && room(inner) != r {
			t.Errorf("%s imports %s; %s stands on its own", file, inner, r)
		}
	})
}

// TestYAMLStaysAtTheEdge is read where users write it: scenarios, the data files of hardware and
// engines, and manifests. So the library can be changed.
func TestYAMLStaysAtTheEdge(t *testing.T) {
	readers := map[string]bool{"internal/strict": true, "hardware": true,
		"internal/files": true, "internal/launch": true, "internal/launch/commands": true,
		"internal/launch/options": true}
	eachImport(t, func(file, imported string) {
		if strings.HasPrefix(imported, "gopkg.in/yaml") && !readers[path.Dir(file)] {
			t.Errorf("%s imports %s; only internal/strict, hardware, internal/datafile and "+
				"internal/launch do", file, imported)
		}
	})
}
