// Package records keeps what was run: a plain folder of JSON files, each named by the hash of its
// contents. Any number of processes may write into a folder at once, also over a network file
// system, for a record appears under its name with all of its contents or not at all; and a record
// that is written twice is one record. Tags are empty files beside them.
package records

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/files"
)

// format is the version of the form of records.
const format = 1

// Record is a run: what was asked, on which inputs, and what came out. It has no time, so that the
// same run has the same name wherever and whenever it takes place; About has it.
type Record struct {
	Format int `json:"format"`
	// Command is "scenario", "sweep", "plan", "train", …; Args are its arguments without what only
	// changes where results are written.
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// Name is the user's name of the run: the scenario's name, or its file.
	Name string `json:"name"`
	// Version is the program's.
	Version string `json:"version"`
	// Seed is the scenario's seed; nil where nothing is random.
	Seed *uint64 `json:"seed,omitempty"`
	// Inputs are the files that the run read.
	Inputs []Input `json:"inputs"`
	// Result is the output of --format json, evidence included.
	Result json.RawMessage `json:"result"`
}

// Input is a file that a run read.
type Input struct {
	// Path is as it was given, relative to the folder in which the command ran.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Text is the contents of the scenario itself; empty for other files.
	Text string `json:"text,omitempty"`
}

// encode returns the bytes of a record, and its name.
func (r *Record) encode() (data []byte, id string, err error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(sum[:]), nil
}

// decode reads a record, and checks that its name is the hash of its contents.
func decode(id string, data []byte) (*Record, error) {
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != id {
		return nil, errors.New("its contents do not have the hash that it is named by: it was " +
			"changed or cut off")
	}
	if err := files.CheckFields(data); err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r.Format != format {
		return nil, fmt.Errorf("it has format %d, and this version reads %d", r.Format, format)
	}
	return &r, nil
}

// SameResult reports whether a result of the program's version has the same bytes as the record's,
// apart from white space between them and the version that results state.
func (r *Record) SameResult(result []byte, version string) (bool, error) {
	var a, b bytes.Buffer
	if err := json.Compact(&a, r.Result); err != nil {
		return false, err
	}
	if err := json.Compact(&b, result); err != nil {
		return false, err
	}
	then, err := json.Marshal(map[string]string{"version": r.Version})
	if err != nil {
		return false, err
	}
	now, err := json.Marshal(map[string]string{"version": version})
	if err != nil {
		return false, err
	}
	recorded := bytes.ReplaceAll(a.Bytes(), bytes.Trim(then, "{}"), bytes.Trim(now, "{}"))
	return bytes.Equal(recorded, b.Bytes()), nil
}

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

// ReadInput returns a file as an input. With keep its text is kept in the record.
func ReadInput(path string, keep bool) (Input, error) {
	in := Input{Path: filepath.ToSlash(path)}
	info, err := os.Stat(path)
	if err != nil {
		return in, err
	}
	if !info.Mode().IsRegular() {
		return in, fmt.Errorf("%s: a record needs regular files, which can be read again", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return in, err
	}
	defer file.Close()
	hash := sha256.New()
	var text strings.Builder
	to := io.Writer(hash)
	if keep {
		to = io.MultiWriter(hash, &text)
	}
	if _, err := io.Copy(to, file); err != nil {
		return in, err
	}
	in.SHA256, in.Text = hex.EncodeToString(hash.Sum(nil)), text.String()
	return in, nil
}

// Changed says of each thing on which the result of a record depends whether it has changed since:
// the version of the program, and the files.
func (r *Record) Changed(version string) []string {
	var list []string
	if version != r.Version {
		list = append(list, fmt.Sprintf("the version: the record is of %s, and this is %s",
			r.Version, version))
	}
	for i := range r.Inputs {
		in := &r.Inputs[i]
		now, err := ReadInput(filepath.FromSlash(in.Path), false)
		switch {
		case errors.Is(err, fs.ErrNotExist) && in.Text != "":
			list = append(list, fmt.Sprintf("%s: is absent here; `llmsim runs show --input %s` "+
				"prints its text", in.Path, in.Path))
		case errors.Is(err, fs.ErrNotExist):
			list = append(list, fmt.Sprintf("%s: is absent here", in.Path))
		case err != nil:
			list = append(list, err.Error())
		case now.SHA256 != in.SHA256:
			list = append(list, fmt.Sprintf("%s: its contents differ (SHA-256 %.12s, and %.12s "+
				"in the record)", in.Path, now.SHA256, in.SHA256))
		}
	}
	return list
}

// OtherInputs says which files a repeated run read and the record has not, and the other way round:
// a name of a registry may mean a newer version now. Files that Changed reports are left out.
func (r *Record) OtherInputs(now *Record) []string {
	paths := func(r *Record) map[string]bool {
		all := map[string]bool{}
		for i := range r.Inputs {
			all[r.Inputs[i].Path] = true
		}
		return all
	}
	then, here := paths(r), paths(now)
	var list []string
	for _, path := range keys(then, here) {
		switch _, err := os.Stat(filepath.FromSlash(path)); {
		case !then[path]:
			list = append(list, path+": is read now, and the record does not have it")
		case !here[path] && err == nil:
			list = append(list, path+": is in the record, and is not read now")
		}
	}
	return list
}
