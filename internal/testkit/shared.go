package testkit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Required is the environment variable that, when it is "1", turns a test that needs the shared
// folder from skipped to failed where the folder is absent.
const Required = "LLMSIM_REQUIRE_SHARED"

// Shared returns the path of a file or a folder in the folder "shared" beside the repository:
// measurements, published figures, traces and configurations of models. It skips the test where the
// file is absent, or fails it where Required is set.
func Shared(tb testing.TB, elements ...string) string {
	tb.Helper()
	folder, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	root := "" // the highest folder with a go.mod: modules of tests lie in the repository
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			root = folder
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	if root == "" {
		tb.Fatal("found no go.mod in any folder above the test")
	}
	path := filepath.Join(append([]string{filepath.Dir(root), "shared"}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv(Required) == "1" {
			tb.Fatalf("%s is required here: %v", path, err)
		}
		tb.Skipf("skipped: %s is absent", path)
	}
	return path
}

// NamesShared reports whether a command names files of the folder, as pages of the documentation
// do.
func NamesShared(command string) bool { return strings.Contains(command, "../shared") }

// LinkShared puts a link to the folder beside another one, in which commands that name it can then
// run.
func LinkShared(tb testing.TB, dir string) {
	tb.Helper()
	err := os.Symlink(Shared(tb), filepath.Join(filepath.Dir(dir), "shared"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		tb.Fatal(err)
	}
}
