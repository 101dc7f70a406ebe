// Package queuetest has what tests of queues need.
package queuetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/llmsim/llmsim/internal/planner/queue/host"
	"github.com/llmsim/llmsim/internal/testkit"
)

// hosting is set for a process of the test program that is the server of a queue.
const hosting = "LLMSIM_TEST_QUEUE"

// Main runs tests with a key of their own, rather than with the user's. Started as llmsim-queue, as
// tests do, the test program is the server of a queue.
func Main(m *testing.M) int {
	if os.Getenv(hosting) != "" {
		if err := host.Serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	dir, err := os.MkdirTemp("", "llmsim-home-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} { // see os.UserConfigDir
		if err := os.Setenv(name, dir); err != nil {
			panic(err)
		}
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "llmsim-queue"))
	}
	if err == nil {
		err = errors.Join(os.Setenv(hosting, "1"),
			os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")))
	}
	if err != nil {
		panic(err)
	}
	return testkit.Checked{Tests: m}.Run()
}

// Serve starts a NATS server that keeps its queue in files until the test ends, and returns its
// address.
func Serve(t testing.TB) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT,
		JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return s.ClientURL()
}
