package scenarios

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/models"
)

// findModel looks the model up in the user's registry and in the catalogue, or reads the
// config.json at path or in the folder at path.
func findModel(fsys fs.FS, name, path, assume string) (*models.Architecture, []string, error) {
	if fsys == fs.FS(files.Disk{}) {
		own, err := registered(registry.Model, name)
		if err != nil {
			return nil, nil, err
		}
		if own != "" {
			return readCheckpoint(fsys, name, own, assume)
		}
	}
	if path, ok := modelFile(fsys, path); ok {
		return readCheckpoint(fsys, name, path, assume)
	}
	catalog, err := models.Load()
	if err != nil {
		return nil, nil, err
	}
	model, err := catalog.Lookup(name)
	if err == nil {
		return model, nil, nil
	}
	// The name of a checkpoint with quantised weights stands for the model in that format.
	form, ok := models.ReadRelease(name)
	if !ok {
		return nil, nil, err
	}
	if model, unknown := catalog.Lookup(form.Of); unknown == nil {
		quantised := *model
		quantised.DType = form.Weights
		return &quantised, nil, nil
	}
	return nil, nil, err
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

// quantisations returns the paths of the files that may say how the weights of the config.json at a
// path were quantised, the first of which counts: NAME_hf_quant_config.json beside
// NAME_config.json, as collections of several models have them, and hf_quant_config.json.
func quantisations(path string) []string {
	folder, name := filepath.Split(path)
	list := []string{filepath.Join(folder, "hf_quant_config.json")}
	if before, ok := strings.CutSuffix(name, "config.json"); ok && before != "" {
		list = slices.Insert(list, 0, filepath.Join(folder, before+"hf_quant_config.json"))
	}
	return list
}

// readCheckpoint reads the config.json at path, and what says how its weights were quantised beside
// it, where there is such a file.
func readCheckpoint(fsys fs.FS, name, path, assume string) (*models.Architecture, []string, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, nil, plainPathError(err)
	}
	defer file.Close()
	p := models.Checkpoint{Config: files.Limit(file, path, mostConfig), Assume: assume}
	list := quantisations(path)
	if i := slices.IndexFunc(list, func(at string) bool { return files.Exists(fsys, at) }); i >= 0 {
		beside := list[i]
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
