// Package files opens and reads what comes from outside, within bounds, and writes files whole or
// not at all. It also decodes the project's own data files, in YAML.
package files

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/llmsim/llmsim/internal/units"
)

// Disk is the files of the operating system. Unlike other file systems it takes every path that the
// operating system takes: absolute paths, and paths that lead upwards.
type Disk struct{}

// Open opens the file at a path.
func (Disk) Open(name string) (fs.File, error) { return os.Open(name) }

// ReadDir lists a folder.
func (Disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Stat describes the file at a path.
func (Disk) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Or returns fsys, or the files of the operating system where it is nil.
func Or(fsys fs.FS) fs.FS {
	if fsys == nil {
		return Disk{}
	}
	return fsys
}

// Exists reports whether there is a file, not a folder, at a path.
func Exists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

// IsFolder reports whether there is a folder of the operating system at a path.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsAbsent reports whether reading a path of the operating system failed because no file is there:
// a folder is not a file that hides what ships under the name.
func IsAbsent(err error, path string) bool {
	return errors.Is(err, fs.ErrNotExist) || err != nil && IsFolder(path)
}

// Repeatable returns an error unless the file at a path can be read as often as one likes. A pipe
// cannot, and opening one waits until somebody writes to it.
func Repeatable(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s: found a folder, want a file", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: found a pipe or a device, want an ordinary file: it is read more "+
			"than once, so write what comes out of the pipe to a file first", name)
	}
	return nil
}

// Read returns the contents of a file of at most a number of bytes. It does not trust the file's
// size: a device has no size.
func Read(fsys fs.FS, name string, most int64) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(Limit(file, name, most))
}

// Limit returns a reader of r that fails with TooLarge after most bytes. Name stands for the file
// in the error.
func Limit(r io.Reader, name string, most int64) io.Reader {
	return &limited{r: r, left: most, err: TooLarge{Name: name, Most: most}}
}

// TooLarge is the error of a file with more bytes than are read.
type TooLarge struct {
	Name string
	// Most is the number of bytes that are read.
	Most int64
}

// Error names the file and the bound.
func (e TooLarge) Error() string {
	return fmt.Sprintf("%s: found more than %s, which is the most that is read of such a file",
		e.Name,
		units.FormatBytes(float64(e.Most)))
}

// limited is a reader that fails after left bytes.
type limited struct {
	r    io.Reader
	left int64
	err  error
}

// Read reads one byte more than is left, to tell a file that ends from one that goes on.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, l.err
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, l.err
	}
	return n, err
}

// Folder returns the files of a folder of fsys, by their names. Paths are joined as the operating
// system does, so that it takes every folder of Disk.
func Folder(fsys fs.FS, dir string) fs.ReadDirFS { return folder{fsys, dir} }

type folder struct {
	fsys fs.FS
	dir  string
}

// Open opens a file of the folder.
func (f folder) Open(name string) (fs.File, error) {
	return f.fsys.Open(filepath.Join(f.dir, name))
}

// ReadDir lists the folder, or one in it.
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(f.fsys, filepath.Join(f.dir, name))
}

// Stat describes a file of the folder.
func (f folder) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(f.fsys, filepath.Join(f.dir, name))
}

// Damage says in words what is wrong with a gzip file that cannot be read further. It returns other
// errors as they are.
func Damage(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the gzip file is cut short")
	case errors.As(err, &corrupt):
		return fmt.Errorf("the gzip file is damaged at byte %d", int64(corrupt))
	case errors.Is(err, gzip.ErrChecksum):
		return errors.New("the gzip file is damaged: what it holds does not have its checksum")
	case errors.Is(err, gzip.ErrHeader):
		return errors.New("what follows in the gzip file is no gzip")
	}
	return err
}
