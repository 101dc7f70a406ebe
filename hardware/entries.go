package hardware

import (
	"maps"
	"slices"
)

// part is a pointer to an entry of the catalogue.
type part[T any] interface {
	*T
	header() header
	// detach copies the parts that the entry shares with the entry that it was copied from.
	detach()
}

// header holds the fields that every entry has.
type header struct {
	name    *string
	aliases *[]string
	title   *string
	sources map[string]string
}

// names returns the name and the aliases.
func (h header) names() []string { return append([]string{*h.name}, *h.aliases...) }

func (a *Accelerator) header() header { return header{&a.Name, &a.Aliases, &a.Title, a.Sources} }

func (a *Accelerator) detach() {
	a.Aliases, a.Peak, a.Sources = slices.Clone(a.Aliases), copied(a.Peak), copied(a.Sources)
	a.Constants, a.PerNode = a.Constants.clone(), max(a.PerNode, 1)
}

func (h *Host) header() header { return header{&h.Name, &h.Aliases, &h.Title, h.Sources} }

func (h *Host) detach() { h.Aliases, h.Sources = slices.Clone(h.Aliases), copied(h.Sources) }

func (l *Link) header() header { return header{&l.Name, &l.Aliases, &l.Title, l.Sources} }

func (l *Link) detach() { l.Aliases, l.Sources = slices.Clone(l.Aliases), copied(l.Sources) }

// copied is a copy of m that is never nil.
func copied[K comparable, V any](m map[K]V) map[K]V {
	c := maps.Clone(m)
	if c == nil {
		c = map[K]V{}
	}
	return c
}

// clone returns a copy that shares no memory with c; nil for nil.
func (c *Constants) clone() *Constants {
	if c == nil {
		return nil
	}
	d := *c
	d.Linear.Compute, d.Experts.Compute = maps.Clone(c.Linear.Compute),
		maps.Clone(c.Experts.Compute)
	return &d
}

// own returns the constants of the entry of a, under the name of a.
func (a *Accelerator) own() (Constants, bool) {
	if a.Constants == nil {
		return Constants{}, false
	}
	c := *a.Constants.clone()
	c.Accelerator = a.Name
	return c, true
}
