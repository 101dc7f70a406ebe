package scenarios

import (
	"path/filepath"
	"slices"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/measured"
)

// Files returns the paths of the existing files that the scenario names, in order. For a folder
// that is named as a model, these are the configs in it. Missing files are reported when the
// scenario is built.
func (f *File) Files() []string {
	w := &f.Scenario.Workload
	names := append(f.serverFiles(&f.Scenario),
		lengthFiles(&w.Prompt, &w.Output, w.Prefix, w.Sessions, w.Calls)...)
	for i := range f.Scenario.Fleet.Pools {
		view, _ := f.Scenario.Fleet.Pools[i].over(f.Scenario)
		names = append(names, f.serverFiles(&view)...)
	}
	if w.Trace != nil {
		names = append(names, w.Trace.File)
	}
	if c := f.Scenario.Caches; c != nil {
		names = append(names, c.File)
	}
	if f.FS == nil {
		names = append(names, f.policies...)
	}
	for i := range w.Classes {
		c := &w.Classes[i]
		names = append(names, lengthFiles(&c.Prompt, &c.Output, c.Prefix, c.Sessions,
			c.Calls)...)
		if c.Trace != nil {
			names = append(names, c.Trace.File)
		}
	}
	var found []string
	for _, name := range names {
		for _, path := range []string{name, filepath.Join(f.dir, name)} {
			for _, at := range append(checkpointFiles(path), path) {
				if name != "" && files.Exists(f.files(), at) {
					found = append(found, at)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// checkpointFiles lists the files that are read where a model is named by a path: by its folder, or
// by its config.json.
func checkpointFiles(path string) []string {
	config := filepath.Join(path, "config.json")
	if filepath.Ext(path) == ".json" {
		config = path
	}
	return append(quantisations(config), filepath.Join(filepath.Dir(config), "config.json"))
}

// serverFiles lists the files of the servers.
func (f *File) serverFiles(s *Scenario) []string {
	list := append(f.operatorFiles(s.Hardware.Operators), s.Model, s.Hardware.File,
		s.Engine.Deployment)
	if sp := s.Speculation; sp != nil {
		list = append(list, sp.Draft, sp.Acceptance.File)
	}
	if f.FS == nil {
		list = append(list, namedFiles(s)...)
	}
	return list
}

// lengthFiles lists the files of a class's distributions.
func lengthFiles(prompt, output *Length, prefix *Prefix, sessions *Sessions,
	calls []Call) []string {
	list := []string{prompt.File, output.File}
	if prefix != nil {
		list = append(list, prefix.Tokens.File)
	}
	if sessions != nil {
		list = append(list, sessions.files()...)
	}
	for i := range calls {
		list = append(list, calls[i].Prompt.File, calls[i].Output.File)
	}
	return list
}

// operatorFiles lists the tables of a folder that the scenario names, beside its file or as it
// stands.
func (f *File) operatorFiles(folder string) []string {
	var list []string
	for _, at := range []string{folder, filepath.Join(f.dir, folder)} {
		if folder == "" {
			continue
		}
		for _, name := range measured.Files(files.Folder(f.files(), at)) {
			list = append(list, filepath.Join(folder, name))
		}
	}
	return list
}
