// Package must ends tests that cannot go on.
package must

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
