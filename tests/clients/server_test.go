// Package clients holds tests of llmsim serve with programs of others, unmodified: OpenAI's clients
// for Go and Node, Prometheus, and a load generator. They are a module of their own, so that llmsim
// does not depend on them.
package clients

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// scenario is what is served: fast enough that tests take seconds.
const scenario = `
model: llama-3.1-8b
hardware: h100-sxm
engine: {max-model-len: 16384}
memory: prefix-cache
replicas: 2
workload: {rate: 10/s, prompt: 100, output: 20, requests: 50}
`

// TestMain builds llmsim and installs the Node clients once for all tests.
func TestMain(m *testing.M) {
	os.Exit(prepared(m))
}

// prepared runs the tests with what they share, and returns their exit status.
func prepared(m *testing.M) int {
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "llmsim")
	commands := []*exec.Cmd{exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/llmsim")}
	commands[0].Dir = "../.."
	if _, err := exec.LookPath("npm"); err == nil {
		install := exec.Command("npm", "ci", "--no-audit", "--no-fund")
		install.Dir = "node"
		commands = append(commands, install)
	}
	for _, c := range commands {
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %v: %s", c, err, out)
			return 1
		}
	}
	os.Setenv(built, program)
	return testkit.Checked{Tests: m}.Run()
}

// built is the environment variable with the path of llmsim as these tests built it.
const built = "LLMSIM_UNDER_TEST"

// server serves the scenario until the test ends. It returns the address.
func server(t *testing.T, flags ...string) string {
	t.Helper()
	return serving(t, os.Getenv(built), scenario, flags...)
}

// serving serves a scenario with a program until the test ends. It returns the address.
func serving(t *testing.T, program, text string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fleet.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"serve", file, "--listen", "127.0.0.1:0", "--quiet"}, flags...)
	serve := testkit.Command(t, program, arguments...)
	serve.Stderr = os.Stderr
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), " at ")
	if err != nil || !found {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return address
}
