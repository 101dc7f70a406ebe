package hardware

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
)

//go:embed catalog/*.yaml
var catalogFiles embed.FS

// Catalog lists the accelerators, hosts and links that scenarios may name. Each figure has its
// source.
type Catalog struct {
	Accelerators []Accelerator
	Hosts        []Host
	Links        []Link
}

// Load returns the catalogue that ships with the program. All calls return the same entries, so do
// not change them.
func Load() (Catalog, error) { return shipped() }

// shipped reads the files of the program once, since they never change.
var shipped = sync.OnceValues(func() (Catalog, error) {
	names, err := fs.Glob(catalogFiles, "catalog/*.yaml")
	if err != nil {
		return Catalog{}, err
	}
	var files []file
	for _, name := range names {
		data, err := catalogFiles.ReadFile(name)
		if err != nil {
			return Catalog{}, err
		}
		f, err := parseFile(path.Join("hardware", name), "", data)
		if err != nil {
			return Catalog{}, err
		}
		files = append(files, f)
	}
	c, err := Catalog{}.with(files)
	if err != nil {
		return Catalog{}, err
	}
	return c.priced()
})

// With returns a copy of the catalogue with the entries of a user's YAML file. An entry of a known
// name changes the figures that it gives and keeps the others; `like: NAME` starts a new entry from
// another one. Figures that name no source get "user".
//
//	accelerators:
//	  my-card:
//	    like: h100-sxm
//	    memory: 96GiB
//	    price: {value: $1.20/h, source: our contract of 2026}
//
// An error names the file (as the argument does), line and field, what was found and what is
// allowed.
func (c Catalog) With(filename string, data []byte) (Catalog, error) {
	f, err := parseFile(filename, "user", data)
	if err != nil {
		return Catalog{}, err
	}
	return c.with([]file{f})
}

// Accelerator finds an accelerator by name or alias. Case does not matter, and "_" or " " may stand
// for "-". The error offers the nearest names. The result shares no memory with the catalogue.
func (c Catalog) Accelerator(name string) (Accelerator, error) {
	return lookUp("accelerator", name, c.Accelerators)
}

// Host finds a host by name or alias, as Accelerator does.
func (c Catalog) Host(name string) (Host, error) { return lookUp("host", name, c.Hosts) }

// Link finds a link by name or alias, as Accelerator does.
func (c Catalog) Link(name string) (Link, error) { return lookUp("link", name, c.Links) }

// priced sets the prices of the table in accelerators.
func (c Catalog) priced() (Catalog, error) {
	list, err := Listings()
	if err != nil {
		return Catalog{}, err
	}
	for _, l := range slices.Backward(list) {
		at := slices.IndexFunc(c.Accelerators, func(a Accelerator) bool {
			return a.Name == l.Accelerator
		})
		if at < 0 {
			return Catalog{}, fmt.Errorf("hardware/catalog/prices.csv: there is no accelerator %s",
				l.Accelerator)
		}
		a := &c.Accelerators[at]
		a.Price, a.Sources["price"] = l.Price, l.Source
	}
	return c, nil
}
