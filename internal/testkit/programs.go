package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Command returns a command that is killed when the test ends, with all that it started, and when
// the test program dies (on Linux). Whoever starts it without Run or Output also waits for it.
func Command(tb testing.TB, name string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), name, args...)
	isolate(cmd)
	// Programs that inherited its output can hold Wait up for so long.
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Tests are the tests of a package, as *testing.M is.
type Tests interface{ Run() int }

// Checked runs tests and then looks for processes that they started and that still run.
type Checked struct{ Tests }

// Run runs the tests and returns their exit code, or 1 where a process still runs.
func (c Checked) Run() int {
	adoptOrphans()
	code := c.Tests.Run()
	if left := left(patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "these processes outlive the tests that started them:\n%s\n",
			strings.Join(left, "\n"))
		return max(code, 1)
	}
	return code
}

// Main runs the tests of a package as its TestMain, with the check of Checked.
func Main(m *testing.M) { os.Exit(Checked{m}.Run()) }

// patience bounds how long a killed process may take to end.
const patience = 5 * time.Second

// left returns the command lines of child processes that still run after at most the given time.
func left(patience time.Duration) []string {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		list := children()
		if len(list) == 0 || time.Now().After(end) {
			return list
		}
	}
}
