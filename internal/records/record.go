// Package records keeps what was run: a plain folder of JSON files, each named by the hash of its
// contents. Any number of processes may write into a folder at once, also over a network file
// system, for a record appears under its name with all of its contents or not at all; and a record
// that is written twice is one record. Tags are empty files beside them.
package records

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

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
