package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// What builds a scenario opens files through the fs.FS that it is given, and has no other way to
// them: a worker gives it the files of a task. Only planners hash files of the disk.
func TestScenariosOpenNothingThemselves(t *testing.T) {
	const hashes = "scenarios/fingerprint.go"
	rooms := map[string]bool{"scenarios": true, "workload": true, "models": true, "hardware": true,
		"policies": true, "sim": true}
	seen := 0
	eachImport(t, func(file, imported string) {
		if !rooms[room(file)] {
			return
		}
		seen++
		if imported == "os" && file != hashes || imported == "syscall" ||
			strings.HasPrefix(imported, "net") || strings.HasPrefix(imported, "os/") {
			t.Errorf("%s imports %s", file, imported)
		}
	})
	if seen == 0 {
		t.Error("no imports are seen")
	}
}

// Each test that SECURITY.md names is there.
func TestSecurityPageNamesTests(t *testing.T) {
	page := testkit.Read(t, "SECURITY.md")
	var tests strings.Builder
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		tests.Write(text)
		return err
	})
	testkit.OK(t, err)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(string(page),
		-1)
	if len(named) < 10 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "func "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
