package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/must"
)

// contents returns the names of a folder and what the files hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must.OK(t, err)
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil && !e.IsDir() {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// Until a file is whole, what was there stays; a file that fails leaves nothing.
func TestFilesAreWrittenWholeOrNotAtAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	path := filepath.Join(dir, "a.txt")
	write := func(text string, fail error) error {
		return Write(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			if before := contents(t, dir)["a.txt"]; before == text {
				t.Error("the file is there before it is whole")
			}
			return fail
		})
	}
	must.OK(t, write("one", nil))
	failure := errors.New("failure")
	if err := write("two", failure); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	if all := contents(t, dir); len(all) != 1 || all["a.txt"] != "one" {
		t.Errorf("left behind: %v", all)
	}
	if err := write("three", nil); err != nil || contents(t, dir)["a.txt"] != "three" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat("/dev/null"); err == nil {
		if err := Write("/dev/null", func(w io.Writer) error { return nil }); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
			t.Errorf("/dev/null is replaced: %v", err)
		}
	}
}

// Clean removes what nobody writes any more, and nothing else.
func TestCleanSparesTheLiving(t *testing.T) {
	dir := t.TempDir()
	living, err := Create(filepath.Join(dir, "a.txt"))
	must.OK(t, err)
	staging, err := Stage(dir)
	must.OK(t, err)
	for _, name := range []string{"b.txt", unfinished + "1-dead.txt", filepath.Base(staging) +
		"/dead.csv"} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	fresh, err := Stage(dir)
	must.OK(t, err)
	Clean(dir)
	all := contents(t, dir)
	for _, name := range []string{"b.txt", filepath.Base(living.Name()), filepath.Base(fresh)} {
		if _, there := all[name]; !there {
			t.Errorf("%s is gone", name)
		}
	}
	if len(all) != 3 {
		t.Errorf("left: %v", all)
	}
	if err := living.Commit(); err != nil {
		t.Error(err)
	}
}
