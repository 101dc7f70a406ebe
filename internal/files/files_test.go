package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/llmsim/llmsim/internal/testkit"
)

// What fits is read whole, one byte more is an error that names file and bound.
func TestReadIsBounded(t *testing.T) {
	fsys := fstest.MapFS{"a": {Data: []byte("12345")}}
	if data, err := Read(fsys, "a", 5); err != nil || string(data) != "12345" {
		t.Errorf("read %q: %v", data, err)
	}
	var large TooLarge
	if data, err := Read(fsys, "a", 4); !errors.As(err, &large) || string(data) != "1234" ||
		large.Name != "a" {
		t.Errorf("read %q: %v", data, err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, err := Read(Disk{}, "/dev/zero", 1<<20); !errors.As(err, &large) {
			t.Errorf("an endless file: %v", err)
		}
	}
}

// The limit holds however the reader cuts what it returns.
func TestLimitOfShortReads(t *testing.T) {
	for most := range int64(6) {
		for _, r := range []io.Reader{
			iotest.OneByteReader(strings.NewReader("12345")),
			iotest.DataErrReader(strings.NewReader("12345")),
		} {
			data, err := io.ReadAll(Limit(r, "a", most))
			if int64(len(data)) != min(most, 5) || (err == nil) != (most == 5) {
				t.Errorf("with a limit of %d read %q: %v", most, data, err)
			}
		}
	}
}

// A folder has the files of its own, wherever it is.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte("x"), 0o666))
	if err := fstest.TestFS(Folder(Disk{}, dir), "a.csv"); err != nil {
		t.Skip(err) // Disk takes more paths than a file system may
	}
}
