// Package house holds the tests of the repository as a whole: which room may import which, how long
// a line may be, what programs may rely on. Paths in these tests begin at the module's root.
package house

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain takes all tests to the module's root.
func TestMain(m *testing.M) {
	root := filepath.Join("..", "..")
	err := os.Chdir(root)
	if err == nil {
		_, err = os.Stat("go.mod")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the module's root:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
