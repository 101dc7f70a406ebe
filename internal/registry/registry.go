// Package registry keeps named entries of a user or a team: models, hardware, deployments and
// policies. A registry is a folder of plain files that suits git:
//
//	KIND/NAME/VERSION/entry.yaml    its hash
//	KIND/NAME/VERSION/FILE          config.json, hardware.yaml, scenario.yaml or policy.yaml
//
// Versions are numbers from 1 on, and are never changed. An entry is used by its name, which means
// the newest version, or by NAME@VERSION.
package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
)

// Variable names the environment variable with the folder of the registry.
const Variable = "LLMSIM_REGISTRY"

// Kind is the kind of an entry, such as a model or a policy.
type Kind string

// The kinds of entries.
const (
	Model      Kind = "model"
	Hardware   Kind = "hardware"
	Deployment Kind = "deployment"
	Policy     Kind = "policy"
)

// Kinds lists the kinds of entries.
func Kinds() []Kind { return []Kind{Model, Hardware, Deployment, Policy} }

// file returns the name of the file that an entry of a kind has.
func (k Kind) file() string {
	switch k {
	case Model:
		return "config.json"
	case Deployment:
		return "scenario.yaml"
	}
	return string(k) + ".yaml"
}

const (
	// mostFile bounds the file of an entry, in bytes, and mostVersions the versions of a name.
	mostFile     = 16 << 20
	mostVersions = 10_000
)

// isName reports whether a text may be the name of an entry: it is the name of a folder.
var isName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`).MatchString

// Store is a folder of entries.
type Store struct{ dir string }

// Open returns the registry in a folder, which is made when something is added.
func Open(dir string) *Store { return &Store{dir} }

// FromEnvironment returns the registry that the environment names; nil where it names nothing.
func FromEnvironment() *Store {
	if dir := os.Getenv(Variable); dir != "" {
		return Open(dir)
	}
	return nil
}

// Entry is a version of an entry.
type Entry struct {
	Kind    Kind   `json:"kind" yaml:"kind"`
	Name    string `json:"name" yaml:"name"`
	Version int    `json:"version" yaml:"version"`
	SHA256  string `json:"sha256" yaml:"sha256"`
	// Path is where its file is.
	Path string `json:"path" yaml:"-"`
}

// ReadFile reads a file that is to be added.
func ReadFile(path string) ([]byte, error) { return files.Read(files.Disk{}, path, mostFile) }

// Add keeps a file as the next version of a name. Where the newest version has the same contents,
// Add returns that one.
func (s *Store) Add(kind Kind, name string, data []byte) (*Entry, error) {
	if !isName(name) {
		return nil, fmt.Errorf("name: found %.80q, want 1 to 64 small letters, digits, _ . or -, "+
			"a letter or digit first", name)
	}
	sum := sum(data)
	for {
		version := 1
		if newest, err := s.Find(kind, name); err == nil {
			if newest.SHA256 == sum {
				return newest, nil
			}
			version = newest.Version + 1
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if version > mostVersions {
			return nil, fmt.Errorf("%s: a name has %d versions at most", name, mostVersions)
		}
		e := &Entry{kind, name, version, sum, ""}
		err := s.put(e, data)
		if !errors.Is(err, errTaken) {
			return e, err
		} // another process has added this version meanwhile
	}
}

// errTaken is the error of a version that is there.
var errTaken = errors.New("the version is there")

// put puts a version in place, as a whole.
func (s *Store) put(e *Entry, data []byte) error {
	home := filepath.Join(s.dir, string(e.Kind), e.Name)
	stage, err := files.Stage(home)
	if err != nil {
		return err
	}
	defer stage.Close()
	entry, err := files.EncodeYAML(e)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"entry.yaml": entry, e.Kind.file(): data} {
		if err := files.WriteBytes(filepath.Join(stage.Path, name), text, 0o666); err != nil {
			return err
		}
	}
	target := filepath.Join(home, strconv.Itoa(e.Version))
	e.Path = filepath.Join(target, e.Kind.file())
	if err := os.Rename(stage.Path, target); err != nil {
		if _, there := os.Stat(target); there == nil {
			return errTaken
		}
		return files.Unwritten{Err: err}
	}
	return nil
}

// Find returns the entry that a name means: its newest version, or NAME@VERSION. The error is
// fs.ErrNotExist where there is no such name.
func (s *Store) Find(kind Kind, name string) (*Entry, error) {
	bare, given, pinned := strings.Cut(name, "@")
	if !isName(bare) {
		return nil, fs.ErrNotExist
	}
	versions, err := s.versions(kind, bare)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		return nil, fs.ErrNotExist
	}
	version := versions[len(versions)-1]
	if pinned {
		n, err := strconv.Atoi(given)
		if err != nil || !slices.Contains(versions, n) {
			return nil, fmt.Errorf("%s has the versions 1 to %d, and not %.20q", bare, version,
				given)
		}
		version = n
	}
	return s.read(kind, bare, version)
}

// versions lists the versions of a name, in order.
func (s *Store) versions(kind Kind, name string) ([]int, error) {
	list, err := os.ReadDir(filepath.Join(s.dir, string(kind), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var versions []int
	for _, e := range list {
		n, wrong := strconv.Atoi(e.Name())
		if wrong == nil && n > 0 && n <= mostVersions && strconv.Itoa(n) == e.Name() && e.IsDir() {
			versions = append(versions, n)
		}
	}
	slices.Sort(versions)
	return versions, err
}

// read reads an entry, and checks its file against its hash.
func (s *Store) read(kind Kind, name string, version int) (*Entry, error) {
	dir := filepath.Join(s.dir, string(kind), name, strconv.Itoa(version))
	text, err := files.Read(files.Disk{}, filepath.Join(dir, "entry.yaml"), 1<<16)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var e Entry
	if err := files.DecodeYAML(text, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "entry.yaml"), err)
	}
	e.Path = filepath.Join(dir, kind.file())
	data, err := ReadFile(e.Path)
	if err != nil {
		return nil, err
	}
	if sum(data) != strings.ToLower(e.SHA256) || e.Kind != kind || e.Name != name ||
		e.Version != version {
		return nil, fmt.Errorf("%s: it is not what was added as %s@%d: versions are never "+
			"changed; add a new one", e.Path, name, version)
	}
	return &e, nil
}

// List returns the newest version of each name of each kind, and a problem for each that cannot be
// read.
func (s *Store) List() (list []Entry, problems []error) {
	for _, kind := range Kinds() {
		for _, name := range s.names(kind) {
			e, err := s.Find(kind, name)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			list = append(list, *e)
		}
	}
	return list, problems
}

// names lists the names of a kind, in order.
func (s *Store) names(kind Kind) []string {
	entries, err := os.ReadDir(filepath.Join(s.dir, string(kind)))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && isName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Unknown is the error for a name that the registry does not have.
func (s *Store) Unknown(kind Kind, name string) error {
	return errors.New(nearest.Unknown(string(kind), name, s.names(kind)))
}
