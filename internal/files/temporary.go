package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Temporary is a folder for what a process needs while it runs.
type Temporary struct {
	// Path is where files may be put.
	Path string

	dir  string // holds Path, and a lock beside it
	lock *os.File
}

// lockName is the file that tells by its lock whether the maker of a temporary folder lives.
const lockName = "lock"

// NewTemporary makes an empty folder, whose name begins with the given one, in the system's folder
// for temporary files. Close removes it. Where the process is killed before, the next call for that
// name does, in whatever process.
func NewTemporary(name string) (*Temporary, error) {
	system, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return nil, err
	}
	defer system.Close()
	sweep(system, name+"-")
	t := &Temporary{}
	if t.dir, err = os.MkdirTemp("", name+"-"); err != nil {
		return nil, err
	}
	t.Path = filepath.Join(t.dir, "content")
	if err := t.begin(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// begin locks t. The lock has contents once it is taken: an empty one is about to be.
func (t *Temporary) begin() (err error) {
	path := filepath.Join(t.dir, lockName)
	if t.lock, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := Lock(t.lock); err != nil {
		return err
	}
	if _, err := t.lock.WriteString("in use\n"); err != nil {
		return err
	}
	return os.Mkdir(t.Path, 0o700)
}

// Close removes the folder with all that is in it.
func (t *Temporary) Close() error {
	var err error
	if t.lock != nil {
		err = t.lock.Close()
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

// sweep removes the folders with a prefix that processes left which are gone. What is not certainly
// such a folder stays: of another user, a link, without a lock.
func sweep(system *os.Root, prefix string) {
	if !locks {
		return
	}
	entries, err := fs.ReadDir(system.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && deserted(system, e.Name()) {
			_ = system.RemoveAll(e.Name()) // what cannot be removed stays
		}
	}
}

// deserted reports whether a folder is a temporary one of this user, whose maker is gone.
func deserted(system *os.Root, name string) bool {
	info, err := system.Lstat(name)
	if err != nil || !info.IsDir() || !ours(info) {
		return false
	}
	path := filepath.Join(name, lockName)
	info, err = system.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	lock, err := system.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer lock.Close()
	return Lock(lock) == nil
}
