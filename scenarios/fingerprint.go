package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Fingerprint returns a hash of all that a result depends on: the scenario and its seed, the
// contents of the files that it names, and the version of the program. Scenarios that differ only
// in their name or layout have the same fingerprint. hashFile returns the hash of a file: it is
// HashFile, or a function that remembers the results of HashFile.
func (f *File) Fingerprint(hashFile func(path string) (string, error)) (string, error) {
	s := f.Scenario
	s.Name = ""
	text, err := strict.Encode(s, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s", Version(), text)
	if f.overridden("workload.trace.file") { // then it matters what else is: see replaces
		for i := range reflect.TypeFor[Workload]().NumField() {
			key, _, _ := strings.Cut(reflect.TypeFor[Workload]().Field(i).Tag.Get("json"), ",")
			fmt.Fprintf(hash, "\n%s %v", key, f.overridden("workload."+key))
		}
	}
	for _, path := range f.Files() {
		sum, err := hashFile(path)
		if err != nil {
			return "", InputError{plainPathError(err)}
		}
		fmt.Fprintf(hash, "\n%s %s", path, sum)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

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
	list := append(f.operatorFiles(s.Hardware.Operators), s.Model, s.Hardware.File)
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

// HashFile returns the SHA-256 of the contents of a file in hexadecimal. It accepts regular files
// only, since a device may never end, and a pipe is empty when it is read again.
func HashFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a regular file; runs that are repeated need one", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
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
