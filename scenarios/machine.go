package scenarios

import (
	"cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// machine is the accelerators of a replica with their links.
type machine struct {
	written                    Hardware // with the catalogue's link, network, node and price
	catalog                    hardware.Catalog
	accelerator                *hardware.Accelerator
	scaleUp, network, hostLink *hardware.Link // nil without one
}

// findMachine looks in the catalogue and in the user's own file.
func (v *server) findMachine() machine {
	m := machine{written: v.written.Hardware}
	h := &m.written
	var err error
	if m.catalog, err = v.hardwareCatalog(); err != nil {
		v.problem("hardware.file", "%v", err)
		return m
	}
	accelerator, err := m.catalog.Accelerator(h.Accelerator)
	if err != nil {
		v.problem("hardware.accelerator", "%v", err)
		return m
	}
	if v.file.Tune != nil {
		v.file.Tune(&accelerator)
	}
	h.Link = cmp.Or(h.Link, accelerator.ScaleUp)
	h.Network = cmp.Or(h.Network, accelerator.Network)
	h.PerNode = cmp.Or(h.PerNode, accelerator.PerNode)
	h.Price = cmp.Or(h.Price, Price{Amount: accelerator.Price})
	accelerator.PerNode = h.PerNode
	m.accelerator = &accelerator
	m.scaleUp = v.findLink(m.catalog, "hardware.link", h.Link)
	m.network = v.findLink(m.catalog, "hardware.network", h.Network)
	m.hostLink = v.findLink(m.catalog, "hardware.accelerator", accelerator.HostLink)
	if v.written.Memory.Swap > 0 && m.hostLink == nil {
		v.problem("memory.swap", "%s has no link to host memory; leave swap out", accelerator.Name)
	}
	return m
}

// hardwareCatalog returns the catalogue with the entries of the scenario's own file, if one is
// given.
func (v *server) hardwareCatalog() (hardware.Catalog, error) {
	catalog, err := hardware.Load()
	path := v.locate("hardware.file", v.written.Hardware.File)
	if path == "" && err == nil && v.file.FS == nil {
		path, err = registered(registry.Hardware, v.written.Hardware.Accelerator)
	}
	if err != nil || path == "" {
		return catalog, err
	}
	data, err := files.Read(v.file.files(), path, strict.MostText)
	if err != nil {
		return catalog, plainPathError(err)
	}
	return catalog.With(path, data)
}

// findLink returns the link of a name, or nil if the name is empty.
func (v *server) findLink(catalog hardware.Catalog, field, name string) *hardware.Link {
	if name == "" {
		return nil
	}
	link, err := catalog.Link(name)
	if err != nil {
		v.problem(field, "%v", err)
	}
	return &link
}
