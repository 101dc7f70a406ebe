package formats_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// kept reports whether a file of a folder has a word.
func kept(t *testing.T, dir, word string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range names {
		data := testkit.Read(t, name)
		if bytes.Contains(data, []byte(word)) {
			return true
		}
	}
	return false
}
