package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// temporary makes a temporary folder with a file.
func temporary(t *testing.T) *Temporary {
	t.Helper()
	f, err := NewTemporary("test")
	testkit.OK(t, err)
	testkit.OK(t, os.WriteFile(filepath.Join(f.Path, "a"), []byte("a"), 0o600))
	return f
}

// names returns what is in a folder.
func names(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testkit.OK(t, err)
	all := map[string]bool{}
	for _, e := range entries {
		all[e.Name()] = true
	}
	return all
}

// What a process left that is gone is removed, and nothing else: not the folders of processes that
// live or are about to begin, not what others call alike, and nothing behind a link.
func TestTemporaryFoldersOfTheDeadAreRemoved(t *testing.T) {
	if !locks {
		t.Skip("there are no locks by which to tell")
	}
	system, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, system)
	}
	living, dead := temporary(t), temporary(t)
	if err := dead.lock.Close(); err != nil { // as when a process ends
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		filepath.Join(outside, lockName): "in use\n",
		filepath.Join(outside, "kept"):   "",
		"test-empty/content/kept":        "",
		"test-begins/" + lockName:        "",
		"testing-other/" + lockName:      "in use\n",
		"test-file":                      "",
		"test-folder/lock/kept":          "",
		"test-linked/content/kept":       "",
	} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(system, name)
		}
		testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testkit.OK(t, os.WriteFile(name, []byte(data), 0o600))
	}
	links := map[string]string{"test-link": outside,
		"test-linked/lock": filepath.Join(outside, lockName)}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(system, name)); err != nil {
			t.Skip(err) // Windows asks for a privilege
		}
	}
	if os.Getuid() == 0 { // only root may give a folder to another user
		foreign := filepath.Join(system, "test-foreign")
		testkit.OK(t, errors.Join(os.CopyFS(foreign, os.DirFS(outside)),
			os.Chown(foreign, 1, 1)))
	}
	before := names(t, system)
	next := temporary(t)
	after := names(t, system)
	for name := range before {
		if gone := filepath.Join(system, name) == dead.dir; after[name] == gone {
			t.Errorf("%s is there: %v", name, after[name])
		}
	}
	if len(names(t, outside)) != 2 {
		t.Error("something outside was removed")
	}
	for _, f := range []*Temporary{living, next} {
		if _, err := os.Stat(filepath.Join(f.Path, "a")); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(f.dir); !os.IsNotExist(err) {
			t.Errorf("a folder that was closed is there: %v", err)
		}
	}
	if !before[filepath.Base(dead.dir)] {
		t.Error("there was nothing to remove")
	}
}
