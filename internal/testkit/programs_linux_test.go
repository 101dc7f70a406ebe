package testkit

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// leaky is set for a process of the test program whose tests leave a process behind.
const leaky = "PROCTEST_LEAKY"

func TestMain(m *testing.M) {
	if kind := os.Getenv(leaky); kind != "" {
		os.Exit(Checked{leaks(kind)}.Run())
	}
	Main(m)
}

// leaks are tests that pass and leave a process behind: a child, or the child of a shell that has
// ended.
type leaks string

// Run implements Tests.
func (kind leaks) Run() int {
	var err error
	if kind == "child" {
		err = exec.Command("sleep", "20").Start()
	} else {
		err = exec.Command("sh", "-c", "sleep 20 >/dev/null 2>&1 &").Run()
	}
	if err != nil {
		return 3
	}
	return 0
}

// A test program that leaves a process behind fails and names it, also where the parent of that
// process has ended.
func TestLeftProcessesFail(t *testing.T) {
	for _, kind := range []string{"child", "grandchild"} {
		cmd := Command(t, os.Args[0])
		cmd.Env = append(os.Environ(), leaky+"="+kind)
		out, err := cmd.CombinedOutput()
		if exit, is := err.(*exec.ExitError); !is || exit.ExitCode() != 1 ||
			!strings.Contains(string(out), `["sleep" "20"]`) {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
		// The process group of the command, in which the sleeper still runs, ends with the test.
		OK(t, cmd.Cancel())
	}
}

// A process that a test starts ends with the test, and so do the processes that it started.
func TestProcessesEndWithTheirTest(t *testing.T) {
	t.Run("that starts two", func(t *testing.T) {
		cmd := Command(t, "sh", "-c", "sleep 20 & sleep 20")
		OK(t, cmd.Start())
		t.Cleanup(func() { cmd.Wait() })
		for len(children()) == 0 {
			time.Sleep(time.Millisecond)
		}
	})
	if list := left(5 * time.Second); len(list) > 0 {
		t.Errorf("found %v", list)
	}
}
