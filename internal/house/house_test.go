// Package house holds the tests of the repository as a whole: which room may import which, how long
// a line may be, what programs may rely on. Paths in these tests begin at the module's root.
package house

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestMain takes all tests to the module's root. The go command would look for the files that they
// read in this package's folder instead, find no change, and reuse an old result; without a log of
// these files it does not.
func TestMain(m *testing.M) {
	flag.Parse()
	root := filepath.Join("..", "..")
	err := os.Chdir(root)
	if err == nil {
		_, err = os.Stat("go.mod")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the module's root:", err)
		os.Exit(1)
	}
	if err := flag.Set("test.testlogfile", ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testkit.Main(m)
}
