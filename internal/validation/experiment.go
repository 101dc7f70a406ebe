package validation

import (
	"context"
	"embed"
	"io/fs"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
)

// experiment is what was measured together and is simulated together: a row, or the rows of one
// run.
type experiment interface {
	compare(ctx context.Context, p *accuracy.Physics) ([]accuracy.Comparison, error)
	at() accuracy.Place
}

// keyOf returns the key of the server that an experiment measures, if it is one.
func keyOf(e experiment) servers.Key {
	if server, is := e.(interface{ key() servers.Key }); is {
		return server.key()
	}
	return servers.Key{}
}

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
