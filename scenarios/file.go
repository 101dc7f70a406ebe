package scenarios

import (
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
)

// File is a scenario as it was written, with the changes of the command line.
type File struct {
	Scenario Scenario
	// Clocks, if not nil, supplies the step clock, so that scenarios that are built one after
	// another share it.
	Clocks *Clocks
	// Tune, if not nil, changes the accelerator that the scenario names, for example to its speed
	// at some moment.
	Tune func(a *hardware.Accelerator)
	// Physics, if not nil, replaces the constants that ship with the program, as a fit does.
	Physics *Physics
	// Processors is the number of processors that a simulation may use at the same time, where
	// replicas do not depend on each other; 0 means 1. With more than 1, the observers of
	// Simulation.Run must not read what changes in the sequences of prompt chunks, see
	// sim.Config.Apart. The result is the same. Policies of this module cost less than what more
	// than 1 adds (BenchmarkProcessorPairs), so that no command sets it; it is for policies that
	// take long.
	Processors int
	// FS opens the files that the scenario names; nil means the files of the operating system.
	FS  fs.FS
	doc *strict.Document
	dir string
	// policies are the files of the user's registry with the policies that the scenario names.
	policies []string
}

// Physics has the constants on which predictions rest.
type Physics struct {
	// Engine returns the preset of that name.
	Engine func(preset string) (steptime.Engine, error)
	// Constants returns the constants of an accelerator and its links; nil means the shipped ones.
	Constants func(a *hardware.Accelerator, scaleUp, network *hardware.Link) *hardware.Constants
	// Routing says how unevenly routers choose experts; nil means the shipped list.
	Routing []models.Routing
}

// Parse reads a scenario from the contents of a file; name is the file's name in error messages.
func Parse(name string, data []byte, overrides ...string) (*File, error) {
	doc, err := strict.Parse(name, data)
	if err != nil {
		return nil, InputError{err}
	}
	if err := doc.Spread("model", "name", "shape"); err != nil {
		return nil, InputError{err}
	}
	f := &File{doc: doc, dir: filepath.Dir(name)}
	for _, o := range overrides {
		if err := doc.Set(o, &f.Scenario); err != nil {
			return nil, InputError{err}
		}
	}
	if err := doc.Decode(&f.Scenario); err != nil {
		return nil, InputError{err}
	}
	if f.policies, err = namePolicies(doc, &f.Scenario); err != nil {
		return nil, InputError{err}
	}
	return f, nil
}

// given reports whether the file or the command line sets the field.
func (f *File) given(field string) bool { return f.doc.Has(field) }

// overridden reports whether the command line sets the field.
func (f *File) overridden(field string) bool { return f.doc.Overridden(field) }

// exists reports whether there is a file or a folder at a path.
func (f *File) exists(path string) bool {
	_, err := fs.Stat(f.files(), path)
	return err == nil
}

// files returns the file system of the files that the scenario names.
func (f *File) files() fs.FS { return files.Or(f.FS) }

// locate returns the path of a file that the scenario names. It is relative to the scenario file if
// the file exists there, else as written.
func (f *File) locate(field, path string) string {
	beside := filepath.Join(f.dir, path)
	if path == "" || filepath.IsAbs(path) || f.overridden(field) || !f.exists(beside) {
		return path
	}
	return beside
}

// Version returns the version of llmsim: the module's version, or the commit that it was built
// from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	version := "devel"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version += "-" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			version += "-modified"
		}
	}
	return version
}

// notes collects the problems of a scenario, and warnings for a reader of its result. Both only
// grow; a scenario with a problem does not run.
type notes struct {
	file     *File
	problems strict.Problems
	warnings []string
}

// problem notes what is wrong with a field.
func (n *notes) problem(field, format string, args ...any) {
	n.problems = append(n.problems, n.file.doc.Problem(field, format, args...))
}

// err returns the problems so far as an error.
func (n *notes) err() error {
	if len(n.problems) == 0 {
		return nil
	}
	return InputError{n.problems}
}

// addWarnings adds the warnings that are new.
func (n *notes) addWarnings(warnings []string) {
	for _, warning := range warnings {
		if !slices.Contains(n.warnings, warning) {
			n.warnings = append(n.warnings, warning)
		}
	}
}
