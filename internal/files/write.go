package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// unfinished begins the names of what is being written.
const unfinished = ".unfinished-"

// Pending is a file that is being written. It appears under its name when it is committed: who
// reads that name, finds what was there before or all of the new contents, even if this process is
// killed or the disk is full. Errors of writing are Unwritten.
type Pending struct {
	*os.File
	path string
}

// Create begins a file, in a folder that is made if needed. Call Commit or Discard in the end. A
// path that is no ordinary file, such as /dev/stdout, is written directly; of a link, the file to
// which it leads is replaced, or made.
func Create(path string) (*Pending, error) { return create(path, 0o666) }

// Replaceable refuses a path under which there is something else than what begins with the given
// words: users easily name a file to read where one to write is meant. Empty files may be
// replaced, and so may what is no ordinary file, such as /dev/stdout.
func Replaceable(path, begin string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // Create says what is wrong, if anything is
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(begin))
	if _, err = io.ReadFull(f, head); err != nil || string(head) != begin {
		return fmt.Errorf("%s would be replaced, and holds something else than what is written "+
			"there; give another name, or remove it", path)
	}
	return nil
}

func create(path string, mode fs.FileMode) (p *Pending, err error) {
	defer func() { err = unwritten(err) }()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &Pending{file, ""}, err
	}
	target, err := filepath.EvalSymlinks(path)
	if link, notLink := os.Readlink(path); errors.Is(err, fs.ErrNotExist) && notLink == nil {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil &&
			!filepath.IsAbs(link) {
			link = filepath.Join(dir, link)
		}
		return create(link, mode) // it leads to no file yet
	} else if err == nil {
		path = target
	} else if notLink == nil {
		return nil, err
	}
	Clean(filepath.Dir(path))
	for range attempts {
		p, err := begin(path, mode)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, fmt.Errorf("%s: other processes remove what is being written in its folder", path)
}

// attempts bounds how often Create begins anew where a process that cleans the folder has meanwhile
// taken its file for one that was left behind.
const attempts = 100

// begin begins a file; nil where another process has removed it before it was locked.
func begin(path string, mode fs.FileMode) (*Pending, error) {
	name := fmt.Sprint(unfinished, rand.Uint32(), "-", filepath.Base(path))
	file, err := os.OpenFile(filepath.Join(filepath.Dir(path), name),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if Lock(file) == nil && named(file) {
		return &Pending{file, path}, nil
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return nil, nil
}

// named reports whether a file still has its name.
func named(file *os.File) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(file.Name())
	return err == nil && os.SameFile(open, there)
}

// Write writes into the file.
func (p *Pending) Write(data []byte) (int, error) {
	n, err := p.File.Write(data)
	return n, unwritten(err)
}

// Commit ends the file and puts it in place.
func (p *Pending) Commit() error {
	if p.path == "" {
		return unwritten(p.Close())
	}
	defer hold(p.File)()
	err := p.Close()
	if err == nil {
		err = os.Rename(p.Name(), p.path)
	}
	if err != nil {
		return unwritten(errors.Join(err, os.Remove(p.Name())))
	}
	return nil
}

// Discard throws the file away.
func (p *Pending) Discard() error {
	err := p.Close()
	if p.path == "" {
		return err
	}
	return errors.Join(err, os.Remove(p.Name()))
}

// WriteBytes writes a file with the given contents, all of it or nothing. A new file gets the
// given mode, less what the user's mask takes away.
func WriteBytes(path string, data []byte, mode fs.FileMode) error {
	return write(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write writes a file, all of it or nothing.
func Write(path string, to func(io.Writer) error) error { return write(path, 0o666, to) }

// WriteNew writes files into a folder by their names. It replaces no file: where one of them is
// there already, that is an error, and none is written.
func WriteNew(dir string, contents map[string]func(io.Writer) error) error {
	for name := range contents {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists already; this replaces no file, so choose another folder",
				path)
		}
	}
	for name, to := range contents {
		if err := Write(filepath.Join(dir, name), to); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, mode fs.FileMode, to func(io.Writer) error) error {
	p, err := create(path, mode)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(p, 1<<16)
	if err = to(out); err == nil {
		err = out.Flush()
	}
	if err != nil {
		return errors.Join(err, p.Discard())
	}
	return p.Commit()
}

// Unwritten is the error of what could not be written: the disk is full, or a folder is a file.
type Unwritten struct{ Err error }

// Error returns the message.
func (u Unwritten) Error() string { return u.Err.Error() }

// Unwrap returns the error within.
func (u Unwritten) Unwrap() error { return u.Err }

// unwritten marks an error of writing.
func unwritten(err error) error {
	if err == nil {
		return nil
	}
	return Unwritten{err}
}

// Staged is a folder for files that are to appear together.
type Staged struct {
	// Path is the folder. What is in it is moved out, or it is renamed, by who made it.
	Path string
	lock *Pending // beside the folder: Clean spares the folder while the lock is held
}

// stagedSuffix follows the name of the lock in the name of a staged folder.
const stagedSuffix = ".d"

// Stage makes a folder in dir, which is made if needed. Close removes it; if this process is killed
// before, the next that writes into dir does.
func Stage(dir string) (*Staged, error) {
	lock, err := Create(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	s := &Staged{lock.Name() + stagedSuffix, lock}
	if err := os.Mkdir(s.Path, 0o777); err != nil {
		return nil, errors.Join(unwritten(err), lock.Discard())
	}
	return s, nil
}

// Close removes the folder, if it is still there.
func (s *Staged) Close() error { return errors.Join(os.RemoveAll(s.Path), s.lock.Discard()) }

// Clean removes from a folder what processes that are gone were writing. Files of processes that
// live are locked, and so are the locks beside their folders. What cannot be removed stays.
func Clean(dir string) {
	if !locks {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !strings.HasPrefix(e.Name(), unfinished):
		case !e.IsDir():
			removeAbandoned(path)
		case abandoned(strings.TrimSuffix(path, stagedSuffix)):
			os.RemoveAll(path)
		}
	}
}

// removeAbandoned removes a file that no process writes. It holds the lock meanwhile, so that the
// process which has just made the file knows.
func removeAbandoned(path string) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	free := Lock(file) == nil
	removed := free && os.Remove(path) == nil
	file.Close()
	if free && !removed { // Windows removes no file that is open
		os.Remove(path)
	}
}

// abandoned reports whether no process holds a lock.
func abandoned(path string) bool {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || IsFolder(path)
	}
	defer file.Close()
	return Lock(file) == nil
}
