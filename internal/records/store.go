package records

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
)

// Store is a folder of records.
type Store struct{ dir string }

// Open returns the store in a folder, which is made when something is put into it. It removes what
// processes that were killed left unfinished.
func Open(dir string) *Store {
	files.Clean(dir)
	return &Store{dir}
}

// Entry is a record with its name and tags.
type Entry struct {
	ID string `json:"id"`
	// About says when, where and by whom the record was last put into the store.
	About
	Tags []string `json:"tags,omitempty"`
	*Record
}

const (
	// mostRecord bounds a record, in bytes, and mostRecords the number that is listed.
	mostRecord  = 256 << 20
	mostRecords = 1 << 20
	// Latest names the record that was written last.
	Latest = "latest"
	// shortest is the least number of characters by which a record can be named.
	shortest = 4
)

// Put keeps a record, with who kept it, and returns its name.
func (s *Store) Put(r *Record, about About) (id string, err error) {
	kept := *r
	kept.Format = format
	data, id, err := kept.encode()
	if err != nil {
		return "", err
	}
	if len(data) > mostRecord {
		return "", files.TooLarge{Name: "the record", Most: mostRecord}
	}
	if err := files.WriteBytes(s.path(id), data, 0o666); err != nil {
		return id, err
	}
	return id, s.putAbout(id, about)
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+".json") }

// isID reports whether a text is a hash, and so no path.
var isID = regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString

// ids lists the names of all records, in order.
func (s *Store) ids() ([]string, error) {
	list, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range list {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if ok && isID(id) && e.Type().IsRegular() {
			ids = append(ids, id)
		}
	}
	if len(ids) > mostRecords {
		return nil, fmt.Errorf("%s: found %d records, and %d are read at most", s.dir, len(ids),
			mostRecords)
	}
	return ids, nil
}

// List returns all records, the one that was written first at the front, and a problem for each
// file that cannot be read.
func (s *Store) List() (list []Entry, problems []error, err error) {
	ids, err := s.ids()
	if err != nil {
		return nil, nil, err
	}
	tags, err := s.tagsOf()
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		e, err := s.read(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process removed it meanwhile
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		e.Tags = tags[id]
		list = append(list, *e)
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return a.About.compare(b.About) })
	return list, problems, nil
}

// read reads a record by its full name.
func (s *Store) read(id string) (*Entry, error) {
	data, err := files.Read(files.Disk{}, s.path(id), mostRecord)
	if err != nil {
		return nil, err
	}
	r, err := decode(id, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(id), err)
	}
	about, err := s.about(id)
	if err != nil {
		return nil, err
	}
	return &Entry{ID: id, About: about, Record: r}, nil
}

// Get returns the record that a name means: the beginning of its hash, a tag that one record has,
// or Latest.
func (s *Store) Get(name string) (*Entry, error) {
	id, err := s.find(name)
	if err != nil {
		return nil, err
	}
	e, err := s.read(id)
	if err != nil {
		return nil, err
	}
	tags, err := s.tagsOf()
	e.Tags = tags[id]
	return e, err
}

// find returns the full name of a record.
func (s *Store) find(name string) (string, error) {
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("%s has no records: --record keeps a run", s.dir)
	}
	if name == Latest {
		return s.latest(ids)
	}
	tags, err := s.tagsOf()
	if err != nil {
		return "", err
	}
	var found, known []string
	for _, id := range ids {
		if len(name) >= shortest && strings.HasPrefix(id, name) || slices.Contains(tags[id], name) {
			found = append(found, id)
		}
		known = append(known, tags[id]...)
	}
	slices.Sort(known)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		known = slices.Compact(known)
		if len(known) == 0 {
			return "", fmt.Errorf("%s has no record %q; give at least %d characters of its name",
				s.dir, name, shortest)
		}
		return "", errors.New(nearest.Unknown("record", name, known))
	}
	return "", fmt.Errorf("%q stands for %d records, %.12s and %.12s among them; give more "+
		"characters", name, len(found), found[0], found[1])
}

// latest returns the record that was written last, of some.
func (s *Store) latest(ids []string) (string, error) {
	var last string
	var latest About
	for _, id := range ids {
		about, err := s.about(id)
		if err != nil {
			return "", err
		}
		if last == "" || about.compare(latest) > 0 {
			last, latest = id, about
		}
	}
	return last, nil
}

// Remove removes a record with its tags.
func (s *Store) Remove(name string) (id string, err error) {
	if id, err = s.find(name); err != nil {
		return "", err
	}
	tags, err := s.tagsOf()
	if err != nil {
		return "", err
	}
	for _, tag := range tags[id] {
		if err := s.untag(id, tag); err != nil {
			return "", err
		}
	}
	if err := os.RemoveAll(s.aboutFolder(id)); err != nil {
		return "", err
	}
	return id, os.Remove(s.path(id))
}

// isTag reports whether a text may be a tag: it is the name of a folder.
var isTag = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$`).MatchString

// Tag gives a record a tag. A record may have several, and several records one.
func (s *Store) Tag(name, tag string) error {
	if tag == Latest {
		return fmt.Errorf("tag: %q stands for the record that was written last", Latest)
	}
	if !isTag(tag) {
		return fmt.Errorf("tag: found %.80q, want 1 to 64 letters, digits, _ . + or -, a letter "+
			"or digit first", tag)
	}
	id, err := s.find(name)
	if err != nil {
		return err
	}
	return files.Write(s.tagPath(id, tag), func(io.Writer) error { return nil })
}

// Untag takes a tag from a record.
func (s *Store) Untag(name, tag string) error {
	id, err := s.find(name)
	if err != nil {
		return err
	}
	if !isTag(tag) {
		return fmt.Errorf("the record has no tag %.80q", tag)
	}
	err = s.untag(id, tag)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the record has no tag %q", tag)
	}
	return err
}

// untag removes the file of a tag. Its folder stays, for another process may be about to use it.
func (s *Store) untag(id, tag string) error { return os.Remove(s.tagPath(id, tag)) }

func (s *Store) tagPath(id, tag string) string { return filepath.Join(s.dir, "tags", tag, id) }

// tagsOf returns the tags of all records, in order.
func (s *Store) tagsOf() (map[string][]string, error) {
	tags := map[string][]string{}
	folders, err := os.ReadDir(filepath.Join(s.dir, "tags"))
	if errors.Is(err, fs.ErrNotExist) {
		return tags, nil
	}
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if !folder.IsDir() || !isTag(folder.Name()) {
			continue
		}
		list, err := os.ReadDir(filepath.Join(s.dir, "tags", folder.Name()))
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if isID(e.Name()) {
				tags[e.Name()] = append(tags[e.Name()], folder.Name())
			}
		}
	}
	return tags, nil
}
