package scenarios

import (
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// The catalogues do not change, and take longer to read than many a scenario to run: they are read once.
var (
	shippedModels   = sync.OnceValues(models.Load)
	shippedHardware = sync.OnceValues(hardware.Load)
)

// lookUp finds what the scenario names: model, accelerator, links and engine.
func (b *builder) lookUp() {
	if b.s.Model == "" {
		b.problem("model", "must be given, at the top or in the pool")
		return
	}
	if b.s.Hardware.Accelerator == "" {
		b.problem("hardware", "must be given, at the top or in the pool")
		return
	}
	var err error
	var warnings []string
	if b.Model, warnings, err = findModel(b.file.files(), b.s.Model, b.locate("model", b.s.Model), b.s.Shape.Assume); err != nil {
		b.problem("model", "%v", err)
	}
	b.addWarnings(warnings)
	b.reshape()
	b.findHardware()
	b.findEngine()
	b.readOperators()
}

// findModel looks in the catalogue, or reads a config.json: that at path, or in the folder there.
func findModel(fsys fs.FS, name, path, assume string) (*models.Architecture, []string, error) {
	if path, ok := modelFile(fsys, path); ok {
		return readCheckpoint(fsys, name, path, assume)
	}
	catalog, err := shippedModels()
	if err != nil {
		return nil, nil, err
	}
	model, err := catalog.Lookup(name)
	return model, nil, err
}

// mostConfig bounds a config.json, in bytes: lists of modules that are not quantised, layer by layer, take some MB.
const mostConfig = 16 << 20

// modelFile returns the config.json that a model's path means, and whether it means one.
func modelFile(fsys fs.FS, path string) (string, bool) {
	if inside := filepath.Join(path, "config.json"); files.Exists(fsys, inside) {
		return inside, true
	}
	return path, filepath.Ext(path) == ".json"
}

// findHardware looks in the catalogue and in the user's own file.
func (b *builder) findHardware() {
	h := &b.s.Hardware
	catalog, err := hardwareCatalog(b.file.files(), b.locate("hardware.file", h.File))
	if err != nil {
		b.problem("hardware.file", "%v", err)
		return
	}
	b.catalog = catalog
	accelerator, err := catalog.Accelerator(h.Accelerator)
	if err != nil {
		b.problem("hardware.accelerator", "%v", err)
		return
	}
	b.Accelerator = &accelerator
	if b.file.Tune != nil {
		b.file.Tune(b.Accelerator)
	}
	h.Link = orDefault(h.Link, b.Accelerator.ScaleUp)
	h.Network = orDefault(h.Network, b.Accelerator.Network)
	b.ScaleUp = b.findLink(catalog, "hardware.link", h.Link)
	b.Network = b.findLink(catalog, "hardware.network", h.Network)
	b.HostLink = b.findLink(catalog, "hardware.accelerator", b.Accelerator.HostLink)
	if b.s.Memory.Swap > 0 && b.HostLink == nil {
		b.problem("memory.swap", "%s has no link to CPU memory; leave swap out", b.Accelerator.Name)
	}
	h.PerNode = orDefault(h.PerNode, b.Accelerator.PerNode)
	b.Accelerator.PerNode = h.PerNode
	b.Physics.Host, b.Memory.Swap = h.Host, float64(b.s.Memory.Swap)
	if h.Price == 0 {
		h.Price = Price(b.Accelerator.Price)
	}
}

// hardwareCatalog returns the catalogue with the entries of the file at path, if one is given.
func hardwareCatalog(fsys fs.FS, path string) (hardware.Catalog, error) {
	catalog, err := shippedHardware()
	if err != nil || path == "" {
		return catalog, err
	}
	data, err := files.Read(fsys, path, strict.MostText)
	if err != nil {
		return catalog, plainPathError(err)
	}
	return catalog.With(path, data)
}

func (b *builder) findLink(catalog hardware.Catalog, field, name string) *hardware.Link {
	if name == "" {
		return nil
	}
	link, err := catalog.Link(name)
	if err != nil {
		b.problem(field, "%v", err)
	}
	return &link
}

// locate returns the path of a file that the pool's view of the scenario names.
func (b *builder) locate(field, path string) string { return b.notes.locate(b.place(field), path) }

// locate returns the path of a file that the scenario names: beside the scenario file if it is there, else as it stands.
func (n *notes) locate(field, path string) string {
	f := n.file
	beside := filepath.Join(f.dir, path)
	if path == "" || filepath.IsAbs(path) || f.overridden(field) || !f.exists(beside) {
		return path
	}
	return beside
}
