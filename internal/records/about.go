package records

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/files"
)

// About says who put a record into a store, when and where. It lies beside the record, so that the
// name of the record does not depend on it, and in a file, so that copies of the folder have it:
// the times of files change when git writes them.
type About struct {
	// Written is the time; the zero time where it is not known.
	Written time.Time `json:"written,omitzero"`
	Author  string    `json:"author,omitempty"`
	Host    string    `json:"host,omitempty"`
	// Note is the author's remark on the run.
	Note string `json:"note,omitempty"`
}

// mostAbout bounds the file of an About, in bytes, and mostNote its note.
const (
	mostAbout = 1 << 16
	mostNote  = 1 << 12
)

// compare orders by time, and by the other fields where times are equal.
func (a About) compare(b About) int {
	return cmp.Or(a.Written.Compare(b.Written), strings.Compare(a.Author, b.Author),
		strings.Compare(a.Host, b.Host), strings.Compare(a.Note, b.Note))
}

func (s *Store) aboutFolder(id string) string { return filepath.Join(s.dir, "about", id) }

// putAbout adds to what is known about a record. Each putting is a file that is named by its
// contents, so that folders of several people can be copied into one.
func (s *Store) putAbout(id string, about About) error {
	if len(about.Note) > mostNote {
		return fmt.Errorf("note: found %d bytes, want at most %d", len(about.Note), mostNote)
	}
	data, err := json.Marshal(about)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:8]) + ".json"
	return files.WriteBytes(filepath.Join(s.aboutFolder(id), name), data, 0o666)
}

// about returns what the last putting of a record says. Files that hold something else are passed
// over: a record counts by its contents alone.
func (s *Store) about(id string) (last About, err error) {
	list, err := os.ReadDir(s.aboutFolder(id))
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	for _, e := range list {
		data, err := files.Read(files.Disk{}, filepath.Join(s.aboutFolder(id), e.Name()), mostAbout)
		if err != nil || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		var a About
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if d.Decode(&a) == nil && len(a.Note) <= mostNote && a.compare(last) > 0 {
			last = a
		}
	}
	return last, err
}
