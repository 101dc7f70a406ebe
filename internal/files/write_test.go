package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// contents returns the names of a folder and what the files hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testkit.OK(t, err)
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
	testkit.OK(t, write("one", nil))
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

// What is written to a link, or to a link to a link, is in the file to which it leads, be the file
// there or not; the links stay. A link that leads to itself is an error.
func TestLinksStay(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "file"), []byte("before"), 0o666))
	for name, target := range map[string]string{"link": "file", "far": "link",
		"dangling": "deep/new", "further": "dangling", "absolute": filepath.Join(dir, "other"),
		"circle": "circle"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range [][2]string{{"link", "file"}, {"far", "file"}, {"dangling", "deep/new"},
		{"further", "deep/new"}, {"absolute", "other"}} {
		testkit.OK(t, WriteBytes(filepath.Join(dir, c[0]), []byte("by "+c[0]), 0o666))
		data, err := os.ReadFile(filepath.Join(dir, c[1]))
		if _, link := os.Readlink(filepath.Join(dir, c[0])); err != nil || link != nil ||
			string(data) != "by "+c[0] {
			t.Errorf("%s: %s holds %q, %v, %v", c[0], c[1], data, err, link)
		}
	}
	if err := WriteBytes(filepath.Join(dir, "circle"), nil, 0o666); err == nil {
		t.Error("a link that leads to itself was written")
	}
}

// Who begins to write into a folder removes what nobody writes there any more, empty folders and
// folders of older versions too, and nothing else.
func TestWritersSpareTheLiving(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*") // which mean something in patterns
	living, err := Create(filepath.Join(dir, "a.txt"))
	testkit.OK(t, err)
	staged, err := Stage(dir)
	testkit.OK(t, err)
	testkit.OK(t, os.WriteFile(filepath.Join(staged.Path, "half.csv"), nil, 0o666))
	for _, name := range []string{"1", "2-lock.d"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(dir, unfinished+name, "deep"), 0o777))
	}
	testkit.OK(t, os.Mkdir(filepath.Join(dir, unfinished+"3"), 0o777))
	for _, name := range []string{"b.txt", unfinished + "1-dead.txt", unfinished + "4-lock",
		unfinished + "1/dead.csv"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	testkit.OK(t, WriteBytes(filepath.Join(dir, "c.txt"), nil, 0o666))
	all := contents(t, dir)
	for _, name := range []string{"b.txt", "c.txt", filepath.Base(living.Name()),
		filepath.Base(staged.Path), filepath.Base(staged.lock.Name())} {
		if _, there := all[name]; !there {
			t.Errorf("%s is gone", name)
		}
	}
	if len(all) != 5 {
		t.Errorf("left: %v", all)
	}
	testkit.OK(t, errors.Join(living.Commit(), staged.Close()))
	if all := contents(t, dir); len(all) != 3 {
		t.Errorf("left: %v", all)
	}
}

// What cannot be written is an error of its own kind, and not what the writer itself says.
func TestUnwritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o666))
	_, stage := Stage(filepath.Join(file, "x"))
	own := errors.New("own")
	full := Write("/dev/full", func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	})
	for _, err := range []error{stage, full, WriteBytes(filepath.Join(file, "x"), nil, 0o666)} {
		if !errors.As(err, new(Unwritten)) {
			t.Errorf("found %v", err)
		}
	}
	err := Write(filepath.Join(t.TempDir(), "x"), func(io.Writer) error { return own })
	if errors.As(err, new(Unwritten)) || !errors.Is(err, own) {
		t.Errorf("found %v", err)
	}
}

// Files that are there already stay as they are, and none is written beside them.
func TestNewFilesReplaceNone(t *testing.T) {
	dir := t.TempDir()
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := WriteNew(dir, map[string]func(io.Writer) error{"a/b": text("old")}); err != nil {
		t.Fatal(err)
	}
	err := WriteNew(dir, map[string]func(io.Writer) error{"a/b": text("new"), "c": text("new")})
	was, _ := os.ReadFile(filepath.Join(dir, "a", "b"))
	if err == nil || string(was) != "old" || Exists(os.DirFS(dir), "c") {
		t.Errorf("%v, %q", err, was)
	}
}
