// Package queuetest has what tests of queues need.
package queuetest

import (
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Main runs tests with a key of their own, rather than with the user's.
func Main(m *testing.M) int {
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
	return m.Run()
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
