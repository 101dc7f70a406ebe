package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/internal/strict"
)

//go:embed library/*.yaml library/papers/*.yaml
var library embed.FS

// Read returns the text of a scenario: of the file of that name, or otherwise of the deployment in
// the user's registry, or of the shipped scenario.
func Read(name string) ([]byte, error) {
	data, err := files.Read(files.Disk{}, name, strict.MostText)
	if files.IsAbsent(err, name) {
		own, problem := registered(registry.Deployment, name)
		if problem != nil {
			return nil, InputError{problem}
		}
		if own != "" {
			return files.Read(files.Disk{}, own, strict.MostText)
		}
		data, err = ReadShipped(name)
	}
	if err != nil {
		return nil, InputError{plainPathError(err)}
	}
	return data, nil
}

// Source returns the path of the file that Read reads for a name: the file of that name, or of the
// deployment in the user's registry; "" for what ships.
func Source(name string) string {
	if files.Exists(files.Disk{}, name) {
		return name
	}
	own, _ := registered(registry.Deployment, name) // Read has told what is wrong
	return own
}

// Load reads a scenario: the file of that name, or otherwise the shipped scenario (with or without
// ".yaml"). Overrides are of the form "key.path=value".
func Load(name string, overrides ...string) (*File, error) {
	data, err := Read(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data, overrides...)
}

// ReadShipped returns the text of a scenario that comes with the program (with or without ".yaml").
func ReadShipped(name string) ([]byte, error) {
	bare := strings.TrimSuffix(filepath.ToSlash(name), ".yaml")
	if !slices.Contains(Shipped(), bare) {
		if files.IsFolder(name) {
			return nil, fmt.Errorf("%s: is a directory", name)
		}
		if folder, _, deep := strings.Cut(bare, "/"); deep && folder != "papers" {
			return nil, fmt.Errorf("%s: no such file", name)
		}
		return nil, fmt.Errorf("%s: no such file, and %s", name,
			nearest.Unknown("shipped scenario", bare, Shipped()))
	}
	return library.ReadFile("library/" + bare + ".yaml")
}

// Shipped returns the names of the scenarios that come with the program; those in papers/ repeat
// published experiments.
func Shipped() []string {
	var names []string
	err := fs.WalkDir(library, "library", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(path, "library/"), ".yaml"))
		}
		return err
	})
	if err != nil {
		panic(err) // the library is part of the program
	}
	return names
}

// Listing is a shipped scenario with its title.
type Listing struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Trace is the path of the recording that it replays, if the recording does not ship with the
	// program. The comment of the scenario says where to get it.
	Trace string `json:"trace,omitempty"`
}

// List returns the shipped scenarios with their titles.
func List() ([]Listing, error) {
	var list []Listing
	for _, name := range Shipped() {
		f, err := Load(name)
		if err != nil {
			return nil, err
		}
		entry := Listing{Name: name, Title: f.Scenario.Name}
		if trace := f.Scenario.Workload.Trace; trace != nil {
			entry.Trace = path.Base(trace.File)
		}
		list = append(list, entry)
	}
	return list, nil
}

//go:embed crosscheck/*.yaml
var crossChecks embed.FS

// CrossChecks returns the names of the shipped scenarios that are small enough to be executed by
// GPT-2.
func CrossChecks() []string {
	entries, err := crossChecks.ReadDir("crosscheck")
	if err != nil {
		panic(err) // they are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// LoadCrossCheck reads a scenario to execute: the file of that name or otherwise the scenario of
// CrossChecks. Overrides are as in Load.
func LoadCrossCheck(name string, overrides ...string) (*File, error) {
	data, err := files.Read(files.Disk{}, name, strict.MostText)
	if files.IsAbsent(err, name) {
		data, err = crossChecks.ReadFile(path.Join("crosscheck", name+".yaml"))
		if err != nil {
			err = fmt.Errorf("%s: no such file, and %s", name,
				nearest.Unknown("cross-check", name, CrossChecks()))
		}
	}
	if err != nil {
		return nil, InputError{plainPathError(err)}
	}
	return Parse(name, data, overrides...)
}
