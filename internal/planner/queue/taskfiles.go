package queue

import (
	"cmp"
	"io/fs"
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
		return s.info(path, f)
	}
	if len(s.within(path)) > 0 {
		return s.root.Stat(".")
	}
	return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

// ReadDir lists the files and folders of a folder that came with the task, in the order of their
// names.
func (s *taskFiles) ReadDir(folder string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	seen := map[string]bool{}
	for _, path := range s.within(folder) {
		inside, err := filepath.Rel(folder, path)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(inside, string(filepath.Separator))
		if seen[name] {
			continue
		}
		seen[name] = true
		info, err := s.Stat(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(namedFile{info, name}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, nil
}

// within returns the paths below a folder, in order.
func (s *taskFiles) within(folder string) []string {
	var paths []string
	for path := range s.files {
		if inside, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(inside) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (s *taskFiles) info(path string, f SentFile) (fs.FileInfo, error) {
	info, err := s.root.Stat(f.Sum)
	return namedFile{info, filepath.Base(path)}, err
}

// namedFile is a file under the name that the task has for it.
type namedFile struct {
	fs.FileInfo
	name string
}

// Name returns the name.
func (n namedFile) Name() string { return n.name }
