package queue

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A worker finds in what was sent the folders and files that the planner has.
func TestSentFilesAreAFolder(t *testing.T) {
	const sum = "0"
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, sum), nil, 0o666))
	root, err := os.OpenRoot(dir)
	testkit.OK(t, err)
	defer root.Close()
	rapid.Check(t, func(t *rapid.T) {
		there := fstest.MapFS{}
		travelled := &taskFiles{root, map[string]SentFile{}}
		for _, path := range rapid.SliceOfN(rapid.StringMatching(`([a-b](-a)?/){0,4}[x-z]`), 1,
			20).Draw(t, "paths") {
			there[path] = &fstest.MapFile{}
			travelled.files[filepath.FromSlash(path)] = SentFile{Sum: sum}
		}
		if got, want := walk(t, travelled), walk(t, there); !slices.Equal(got, want) {
			t.Fatalf("sent %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
		}
	})
}

// walk lists the paths of all folders, with a stroke behind, and files.
func walk(t *rapid.T, fsys fs.FS) (paths []string) {
	err := fs.WalkDir(fsys, ".", func(path string, entry fs.DirEntry, err error) error {
		if path = filepath.ToSlash(path); err == nil && entry.IsDir() {
			path += "/"
		}
		paths = append(paths, path)
		return err
	})
	testkit.OK(t, err)
	return paths
}
