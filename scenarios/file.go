package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios/strict"
)

//go:embed library/*.yaml library/papers/*.yaml
var library embed.FS

// File is a scenario as somebody wrote it, with what the command line changed.
type File struct {
	Scenario Scenario
	// Clocks, if any, supplies the step clock, so that scenarios built one after another share it.
	Clocks *Clocks
	// Tune, if set, changes the accelerator that the scenario names: to how fast it was at some moment, say.
	Tune func(a *hardware.Accelerator)
	// FS opens the files that the scenario names, by the paths at which it finds them; nil means those of the operating
	// system.
	FS  fs.FS
	doc *strict.Document
	dir string
}

// InputError is an error in what the user gave: scenario, overrides, or a file that they name.
type InputError struct{ err error }

// Error returns the message.
func (e InputError) Error() string { return e.err.Error() }

// Unwrap returns the error within.
func (e InputError) Unwrap() error { return e.err }

// BadInput marks an error as one in what the user gave.
func BadInput(err error) error { return InputError{err} }

// IsInputError tells errors in the input from failures of the run.
func IsInputError(err error) bool {
	var input InputError
	return errors.As(err, &input)
}

// Load reads a scenario: the file of that name, or if there is none, the shipped scenario (with or without ".yaml"). Overrides
// are of the form "key.path=value".
func Load(name string, overrides ...string) (*File, error) {
	data, err := Read(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data, overrides...)
}

// Read returns the text of a scenario: of the file of that name, or if there is none, of the shipped scenario.
func Read(name string) ([]byte, error) {
	data, err := files.Read(files.Disk{}, name, strict.MostText)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = shipped(name)
	}
	if err != nil {
		return nil, InputError{plainPathError(err)}
	}
	return data, nil
}

// Parse reads a scenario from the contents of the file of that name.
func Parse(name string, data []byte, overrides ...string) (*File, error) {
	doc, err := strict.Parse(name, data)
	if err != nil {
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
	return f, nil
}

// given tells whether the file or the command line sets the field.
func (f *File) given(field string) bool { return f.doc.Has(field) }

// overridden tells whether the command line sets the field.
func (f *File) overridden(field string) bool { return f.doc.Overridden(field) }

// shipped returns the contents of a scenario that comes with the program.
func shipped(name string) ([]byte, error) {
	bare := strings.TrimSuffix(filepath.ToSlash(name), ".yaml")
	if !slices.Contains(Shipped(), bare) {
		if folder, _, deep := strings.Cut(bare, "/"); deep && folder != "papers" {
			return nil, fmt.Errorf("%s: no such file", name)
		}
		return nil, fmt.Errorf("%s: no such file, and %s", name, nearest.Unknown("shipped scenario", bare, Shipped()))
	}
	return library.ReadFile("library/" + bare + ".yaml")
}

// Shipped returns the names of the scenarios that come with the program; those in papers/ repeat published experiments.
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

// Listing is a shipped scenario and what it is about.
type Listing struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Trace is the recording that it replays and that does not come with the program; its comment says where it is from.
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
