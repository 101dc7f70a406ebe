package queue

import (
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/llmsim/llmsim/internal/files"
)

// localServer is a NATS server within this process. What it holds is gone when it ends.
type localServer struct {
	server *server.Server
	dir    string           // what it stores, removed with it
	own    *files.Temporary // holds dir, where nobody named one
}

// mostMemory bounds the tasks and results that a server within the process holds, in bytes.
const mostMemory = 1 << 30

// startServer starts a server, which listens only where the configuration says so, and to holders
// of the key only.
func startServer(c *Config, k *key) (*localServer, error) {
	a, err := c.listen()
	if err != nil {
		return nil, err
	}
	_, public, err := k.login()
	if err != nil {
		return nil, err
	}
	s := &localServer{}
	if err := s.makeFolder(c.Dir); err != nil {
		return nil, err
	}
	options := &server.Options{
		ServerName: "llmsim", NoSigs: true, NoLog: true, Host: a.host, Port: a.port,
		Nkeys:     []*server.NkeyUser{{Nkey: public}},
		JetStream: true, StoreDir: s.dir, JetStreamMaxMemory: mostMemory,
		JetStreamMaxStore: 1 << 40, DisableJetStreamBanner: true,
	}
	if a.port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if c.Cert != "" {
		options.TLSTimeout = 5
		options.TLSConfig, err = server.GenTLSConfig(&server.TLSConfigOpts{
			CertFile: c.Cert, KeyFile: c.Key, CaFile: c.CA, Verify: c.CA != ""})
		if err != nil {
			s.close()
			return nil, fmt.Errorf("TLS: %w", err)
		}
	}
	if s.server, err = server.NewServer(options); err != nil {
		s.close()
		return nil, err
	}
	s.server.Start()
	if !s.server.ReadyForConnections(10 * time.Second) {
		s.close()
		return nil, fmt.Errorf("the queue cannot listen on %s:%d; another process may use this "+
			"port",
			a.host, a.port)
	}
	c.Log("workers join with llmsim worker --nats " + s.server.ClientURL() + c.keyFlag())
	return s, nil
}

// makeFolder makes an empty folder for the server: dir, or a temporary one.
func (s *localServer) makeFolder(dir string) error {
	if dir == "" {
		var err error
		if s.own, err = files.NewTemporary("llmsim-queue"); err == nil {
			s.dir = s.own.Path
		}
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // what a killed process left
		return err
	}
	s.dir = dir
	return os.MkdirAll(dir, 0o700)
}

func (s *localServer) close() {
	if s.server != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}
	os.RemoveAll(s.dir)
	if s.own != nil {
		_ = s.own.Close() // what cannot be removed now is when the next queue begins
	}
}
