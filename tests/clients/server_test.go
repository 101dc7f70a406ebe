// Package clients holds tests of llmsim serve with programs of others, unmodified: OpenAI's clients
// for Go and Node, Prometheus, and a load generator. They are a module of their own, so that llmsim
// does not depend on them.
package clients

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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

// build builds llmsim and returns the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "llmsim")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/llmsim")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// server serves the scenario until the test ends. It returns the address.
func server(t *testing.T, flags ...string) string {
	t.Helper()
	return serving(t, build(t), scenario, flags...)
}

// serving serves a scenario with a program until the test ends. It returns the address.
func serving(t *testing.T, program, text string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fleet.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	arguments := append([]string{"serve", file, "--listen", "127.0.0.1:0", "--quiet"}, flags...)
	serve := exec.CommandContext(ctx, program, arguments...)
	serve.Cancel = func() error { return serve.Process.Signal(syscall.SIGTERM) }
	serve.WaitDelay = 10 * time.Second
	serve.Stderr = os.Stderr
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := serve.Wait(); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), " at ")
	if err != nil || !found {
		t.Fatalf("the server said %q, %v", line, err)
	}
	return address
}
