package validation

import (
	"embed"
	"io/fs"
)

//go:embed cited/*.csv
var citedFiles embed.FS

// Cited returns the project's own short tables: single figures that others published, each with its
// source.
func Cited() fs.FS {
	folder, err := fs.Sub(citedFiles, "cited")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return folder
}
