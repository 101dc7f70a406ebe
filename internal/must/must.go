// Package must ends tests that cannot go on.
package must

import "os"

// Test is a testing.TB or a rapid.T.
type Test interface {
	Helper()
	Fatal(args ...any)
}

// OK ends the test if err is not nil.
func OK(t Test, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the contents of a file, and ends the test if it cannot be read.
func Read(t Test, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	OK(t, err)
	return data
}
