package scenarios

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models"
)

// reshape changes the model as the scenario says.
func (b *builder) reshape() {
	n := b.s.Shape.KVHeads
	if n == 0 || b.Model == nil {
		return
	}
	m, err := b.Model.WithKVHeads(n)
	if err != nil {
		b.problem("shape.kv-heads", "%v", err)
		return
	}
	b.Model = m
}

// readCheckpoint reads the config.json at path, and hf_quant_config.json beside it where there is one.
func readCheckpoint(fsys fs.FS, name, path, assume string) (*models.Architecture, []string, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, nil, plainPathError(err)
	}
	defer file.Close()
	p := models.Checkpoint{Config: files.Limit(file, path, mostConfig), Assume: assume}
	if beside := filepath.Join(filepath.Dir(path), "hf_quant_config.json"); files.Exists(fsys, beside) {
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
