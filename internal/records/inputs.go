package records

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

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
