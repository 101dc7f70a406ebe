package files

import (
	"io/fs"
	"path/filepath"
)

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
