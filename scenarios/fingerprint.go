//go:build !js

// The page keeps no results to find again, and is smaller without hashes.

package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
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
		for _, of := range keyFields(reflect.TypeFor[Workload]()) {
			key, _, _ := strings.Cut(of.Tag.Get("json"), ",")
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
