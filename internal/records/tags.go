package records

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/llmsim/llmsim/internal/files"
)

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
