package queue

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// taskFiles is the files that came with a task, by the paths at which its scenario finds them.
// There is nothing else in it: a path leads to a file of that hash, or nowhere.
type taskFiles struct {
	root  *os.Root
	files map[string]SentFile
}

// Open opens a file that came with the task.
func (s *taskFiles) Open(path string) (fs.File, error) {
	f, ok := s.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return s.root.Open(f.Sum)
}

// Stat describes a file that came with the task, or a folder that has one.
func (s *taskFiles) Stat(path string) (fs.FileInfo, error) {
	if f, ok := s.files[path]; ok {
		info, err := s.root.Stat(f.Sum)
		return namedFile{info, filepath.Base(path)}, err
	}
	if len(s.within(path)) > 0 {
		return s.root.Stat(".")
	}
	return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

// ReadDir lists the files and folders of a folder that came with the task, in the order of their
// names.
func (s *taskFiles) ReadDir(folder string) (list []fs.DirEntry, err error) {
	for _, name := range s.within(folder) {
		info, err := s.Stat(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(namedFile{info, name}))
	}
	return list, nil
}

// within returns the names of the files and folders in a folder, in order.
func (s *taskFiles) within(folder string) []string {
	names := map[string]bool{}
	for path := range s.files {
		if inside, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(inside) {
			name, _, _ := strings.Cut(inside, string(filepath.Separator))
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// namedFile is a file under the name that the task has for it.
type namedFile struct {
	fs.FileInfo
	name string
}

// Name returns the name.
func (n namedFile) Name() string { return n.name }
