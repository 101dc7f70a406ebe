package scenarios

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models"
)

// findModel looks the model up in the catalogue, or reads the config.json at path or in the folder
// at path.
func findModel(fsys fs.FS, name, path, assume string) (*models.Architecture, []string, error) {
	if path, ok := modelFile(fsys, path); ok {
		return readCheckpoint(fsys, name, path, assume)
	}
	catalog, err := models.Load()
	if err != nil {
		return nil, nil, err
	}
	model, err := catalog.Lookup(name)
	return model, nil, err
}

// mostConfig bounds a config.json, in bytes: lists of modules that are not quantised, layer by
// layer, take some MB.
const mostConfig = 16 << 20

// modelFile returns the path of the config.json that a model's name stands for, and whether it
// stands for one.
func modelFile(fsys fs.FS, path string) (string, bool) {
	if inside := filepath.Join(path, "config.json"); files.Exists(fsys, inside) {
		return inside, true
	}
	return path, filepath.Ext(path) == ".json"
}

// readCheckpoint reads the config.json at path, and hf_quant_config.json beside it where there is
// one.
func readCheckpoint(fsys fs.FS, name, path, assume string) (*models.Architecture, []string, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, nil, plainPathError(err)
	}
	defer file.Close()
	p := models.Checkpoint{Config: files.Limit(file, path, mostConfig), Assume: assume}
	beside := filepath.Join(filepath.Dir(path), "hf_quant_config.json")
	if files.Exists(fsys, beside) {
		quantised, err := fsys.Open(beside)
		if err != nil {
			return nil, nil, plainPathError(err)
		}
		defer quantised.Close()
		p.Quantisation = io.Reader(files.Limit(quantised, beside, mostConfig))
	}
	model, warnings, err := p.Read(name)
	if err == nil && assume != "" {
		model.Name = fmt.Sprintf("%s (read as %s)", name, assume)
	}
	return model, warnings, err
}
